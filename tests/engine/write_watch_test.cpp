/// Files whose writing is followed and cancelled.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "engine/io/npy.hpp"
#include "engine/io/npz.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/tensor/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn {
namespace {

struct WatchedWriter {
    std::string name;
    std::function<void(const std::filesystem::path&, const WriteWatch&)> write;
};

/// Two arrays of several pieces each, in every format.
std::vector<WatchedWriter> watched_writers() {
    static const std::vector<float> kNumbers = [] {
        std::vector<float> numbers(3 << 20);
        std::iota(numbers.begin(), numbers.end(), 0.F);
        return numbers;
    }();
    const std::vector<std::int64_t> shape{3, 1 << 20};
    const std::span<const std::byte> bytes = std::as_bytes(std::span(kNumbers));
    const ArrayView a{"a", DType::F32, shape, bytes}, b{"b", DType::F32, shape, bytes};
    return {
        {"views.safetensors",
         [=](const auto& path, const WriteWatch& watch) {
             write_safetensors(path, {}, std::vector{a, b}, watch);
         }},
        {"planned.safetensors",
         [=](const auto& path, const WriteWatch& watch) {
             const std::vector<PlannedArray> planned{{"a", DType::F32, shape}, {"b", DType::F32, shape}};
             write_safetensors(
                 path, {}, planned, [&](std::size_t) { return bytes; }, watch);
         }},
        {"a.npy", [=](const auto& path, const WriteWatch& watch) { write_npy(path, a, watch); }},
        {"stored.npz",
         [=](const auto& path, const WriteWatch& watch) {
             write_npz(path, std::vector{a, b}, false, watch);
         }},
        {"deflated.npz",
         [=](const auto& path, const WriteWatch& watch) {
             write_npz(path, std::vector{a, b}, true, watch);
         }},
    };
}

TEST(WriteWatch, IsToldHowMuchIsWritten) {
    const test::TemporaryFolder folder;
    for (const auto& [name, write] : watched_writers()) {
        SCOPED_TRACE(name);
        std::vector<double> shares;
        write(folder / name, {{}, [&](double share) { shares.push_back(share); }});
        ASSERT_GE(shares.size(), 3U);
        EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
        EXPECT_GT(shares.front(), 0);
        EXPECT_LT(shares.front(), 0.5);
        EXPECT_EQ(shares.back(), 1);
    }
}

TEST(WriteWatch, WhatIsCancelledLeavesTheFileAsItWas) {
    const test::TemporaryFolder folder;
    const std::string old = "as it was";
    for (const auto& [name, write] : watched_writers()) {
        SCOPED_TRACE(name);
        for (const bool exists : {false, true}) {
            if (exists) std::ofstream(folder / name) << old;
            std::stop_source source;
            int told = 0;
            const WriteWatch watch{source.get_token(), [&](double) {
                                       if (++told == 2) source.request_stop();
                                   }};
            EXPECT_THROW(write(folder / name, watch), Cancelled);
            EXPECT_EQ(told, 2) << "the rest is not written";
            EXPECT_EQ(folder.entries(), exists ? 1 : 0);
        }
        std::ifstream file(folder / name);
        EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), old);
        std::filesystem::remove(folder / name);
    }
}

/// Packing takes about as long as writing, or much longer.
TEST(WriteWatch, IsToldHowMuchOfAnArchiveIsPacked) {
    const test::TemporaryFolder folder;
    for (const auto& [name, write] : watched_writers()) {
        if (!name.ends_with(".npz")) continue;
        SCOPED_TRACE(name);
        std::vector<double> shares;
        write(folder / name, {{}, [&](double share) { shares.push_back(share); }});
        EXPECT_GT(std::count_if(shares.begin(), shares.end(), [](double share) { return share < 0.5; }), 10);
    }
}

TEST(WriteWatch, AnArchiveIsNotPackedForNothing) {
    const test::TemporaryFolder folder;
    std::stop_source source;
    source.request_stop();
    const std::vector<float> numbers(4);
    const NamedArray array = make_array<float>("a", {4}, numbers);
    EXPECT_THROW(write_npz(folder / "a.npz", std::vector{view_of(array)}, true, {source.get_token(), {}}), Cancelled);
    EXPECT_EQ(folder.entries(), 0);
}

}  // namespace
}  // namespace attn
