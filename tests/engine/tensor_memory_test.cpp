// The memory of tensors: its alignment and page sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>
#include <string>

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

}  // namespace
}  // namespace attn
