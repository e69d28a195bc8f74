// The memory of tensors: its alignment and page sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "engine/tensor/memory.hpp"

namespace attn {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// The kernel's flags for the mapping that contains the address ("rd wr mr mw me ac hg"); empty if not available.
std::string flags_of_pages_at(const void* address) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    std::ifstream maps("/proc/self/smaps");
    bool here = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t first = 0, end = 0;
        char dash = 0;
        if (std::istringstream range(line); range >> std::hex >> first >> dash >> end && dash == '-')
            here = first <= wanted && wanted < end;
        if (here && line.starts_with("VmFlags:")) return line.substr(std::strlen("VmFlags:")) + " ";
    }
    return "";
}

bool is_in_huge_pages(const void* address) { return flags_of_pages_at(address).find(" hg ") != std::string::npos; }

bool the_system_has_huge_pages() { return std::filesystem::exists("/sys/kernel/mm/transparent_hugepage/enabled"); }

TEST(TensorMemory, BeginsOnACacheLine) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{63}, kHugePage - 1, kHugePage, 3 * kHugePage + 5}) {
        void* numbers = allocate_numbers(bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(numbers) % 64, 0U) << bytes;
        if (bytes > 0) std::memset(numbers, 1, bytes);
        free_numbers(numbers, bytes);
    }
}

TEST(TensorMemory, OfALargeTensorIsInHugePages) {
    if (!the_system_has_huge_pages()) GTEST_SKIP() << "this system has none";
    constexpr std::size_t kWhole = 2 * kHugePage, kBytes = kWhole + kHugePage / 2;
    char* numbers = static_cast<char*>(allocate_numbers(kBytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(numbers) % kHugePage, 0U);
    EXPECT_TRUE(is_in_huge_pages(numbers)) << flags_of_pages_at(numbers);
    EXPECT_TRUE(is_in_huge_pages(numbers + kWhole - 1));
    free_numbers(numbers, kBytes);
}

/// In a separate process, because the heap may reuse memory of another large tensor.
TEST(TensorMemoryDeathTest, TheRestOfALargeTensorIsInUsualPages) {
    if (!the_system_has_huge_pages()) GTEST_SKIP() << "this system has none";
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    constexpr std::size_t kBytes = 2 * kHugePage + kHugePage / 2;
    const auto look = [] {
        const char* numbers = static_cast<const char*>(allocate_numbers(kBytes));
        std::_Exit(is_in_huge_pages(numbers) && !is_in_huge_pages(numbers + kBytes - 1) ? 0 : 1);
    };
    EXPECT_EXIT(look(), testing::ExitedWithCode(0), testing::_) << "memory would be spent that nobody asked for";
}

TEST(TensorMemory, TheKernelTellsUsualPagesFromHugeOnes) {
    const int on_the_stack = 0;
    EXPECT_NE(flags_of_pages_at(&on_the_stack), "");
    EXPECT_FALSE(is_in_huge_pages(&on_the_stack));
}

TEST(TensorMemory, MoreThanThereIsIsRefused) { EXPECT_THROW((void)allocate_numbers(std::size_t{1} << 60), std::bad_alloc); }

/// Keeps spare memory for the lifetime of the object.
struct Keeping {
    explicit Keeping(std::size_t most) { keep_spare_memory(most); }
    ~Keeping() { keep_spare_memory(0); }
};
constexpr std::size_t kBlock = std::size_t{1} << 20;

TEST(SpareMemory, AFreedBlockServesTheNextTensorOfAboutItsSize) {
    const Keeping keeping(8 * kBlock);
    void* first = allocate_numbers(kBlock + 1000);
    free_numbers(first, kBlock + 1000);
    EXPECT_GE(spare_memory(), kBlock + 1000);
    EXPECT_LE(spare_memory(), (kBlock + 1000) * 9 / 8 + 64);
    void* again = allocate_numbers(kBlock + 2000);
    EXPECT_EQ(again, first) << "a few tokens more";
    EXPECT_EQ(spare_memory(), 0U);
    std::memset(again, 1, kBlock + 2000);
    void* larger = allocate_numbers(2 * kBlock);
    EXPECT_NE(larger, again);
    free_numbers(larger, 2 * kBlock);
    free_numbers(again, kBlock + 2000);
    return_spare_memory();
    EXPECT_EQ(spare_memory(), 0U);
}

TEST(SpareMemory, NeverExceedsItsLimitAndTheOldestGoesFirst) {
    const Keeping keeping(3 * kBlock);
    std::vector<void*> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(allocate_numbers(kBlock));
    for (void* block : blocks) {
        free_numbers(block, kBlock);
        EXPECT_LE(spare_memory(), 3 * kBlock);
    }
    EXPECT_EQ(spare_memory(), 3 * kBlock);
    std::set<void*> kept;
    for (int i = 0; i < 3; ++i) kept.insert(allocate_numbers(kBlock));
    EXPECT_EQ(kept, (std::set<void*>{blocks[1], blocks[2], blocks[3]}));
    EXPECT_EQ(spare_memory(), 0U);
    for (void* block : kept) free_numbers(block, kBlock);
    free_numbers(allocate_numbers(4 * kBlock), 4 * kBlock);
    EXPECT_EQ(spare_memory(), 3 * kBlock) << "what is larger than the limit is not kept";
}

TEST(SpareMemory, SmallBlocksAreNotKeptAndWithoutALimitNothingIs) {
    {
        const Keeping keeping(8 * kBlock);
        free_numbers(allocate_numbers(1000), 1000);
        EXPECT_EQ(spare_memory(), 0U);
        free_numbers(allocate_numbers(kBlock), kBlock);
        EXPECT_EQ(spare_memory(), kBlock);
    }
    EXPECT_EQ(spare_memory(), 0U) << "a limit of 0 returns what is kept";
    free_numbers(allocate_numbers(kBlock), kBlock);
    EXPECT_EQ(spare_memory(), 0U);
}

TEST(SpareMemory, WhatIsFreedLongAfterTheLastAllocationIsReturned) {
    const Keeping keeping(8 * kBlock);
    void* block = allocate_numbers(kBlock);
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    free_numbers(block, kBlock);
    EXPECT_EQ(spare_memory(), 0U);
}

TEST(SpareMemory, ThreadsShareIt) {
    const Keeping keeping(64 * kBlock);
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([t] {
            for (int i = 0; i < 200; ++i) {
                const std::size_t bytes = kBlock << (i + t) % 3;
                auto* numbers = static_cast<unsigned char*>(allocate_numbers(bytes));
                numbers[0] = numbers[bytes - 1] = static_cast<unsigned char>(t);
                std::this_thread::yield();
                EXPECT_EQ(numbers[0], t) << "nobody else has this block";
                EXPECT_EQ(numbers[bytes - 1], t);
                free_numbers(numbers, bytes);
            }
        });
    threads.clear();
    EXPECT_GT(spare_memory(), 0U);
}

}  // namespace
}  // namespace attn
