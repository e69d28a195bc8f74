/// Block-quantised numbers, compared with gguf-py.

#include "engine/tensor/blocks.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "engine/io/safetensors.hpp"

namespace attn {
namespace {

constexpr BlockKind kEveryKind[] = {BlockKind::Q4_0, BlockKind::Q4_1, BlockKind::Q5_0, BlockKind::Q5_1, BlockKind::Q8_0,
                                    BlockKind::Q2_K, BlockKind::Q3_K, BlockKind::Q4_K, BlockKind::Q5_K, BlockKind::Q6_K};

struct GoldenBlocks {
    std::vector<std::byte> bytes;
    std::vector<float> numbers;
};
GoldenBlocks golden_blocks(BlockKind kind) {
    static const ArrayFile file = read_safetensors(std::filesystem::path(ATTN_TEST_DATA) / "golden/gguf/blocks.safetensors");
    const std::string name(block_format(kind).name);
    return {file.at(name + ".blocks").bytes, file.values<float>(name + ".numbers")};
}

bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

class Blocks : public testing::TestWithParam<BlockKind> {};

TEST_P(Blocks, AreTheNumbersOfGgufPyBitForBit) {
    const GoldenBlocks golden = golden_blocks(GetParam());
    const BlockFormat& format = block_format(GetParam());
    ASSERT_EQ(golden.bytes.size() % static_cast<std::size_t>(format.bytes), 0U);
    ASSERT_EQ(golden.numbers.size(),
              golden.bytes.size() / static_cast<std::size_t>(format.bytes) * static_cast<std::size_t>(format.numbers));
    std::vector<float> ours(golden.numbers.size(), std::nanf(""));
    expand_blocks(GetParam(), golden.bytes.data(), 0, ours);
    for (std::size_t i = 0; i < ours.size(); ++i) ASSERT_TRUE(same_bits(ours[i], golden.numbers[i])) << i << ": " << ours[i];
}

TEST_P(Blocks, MayBeReadFromAnyNumberOn) {
    const GoldenBlocks golden = golden_blocks(GetParam());
    const auto count = static_cast<std::int64_t>(golden.numbers.size());
    for (std::int64_t first = 0; first < count; first += 13)
        for (const std::int64_t length : {std::int64_t{0}, std::int64_t{1}, std::int64_t{17}, std::int64_t{300}}) {
            std::vector<float> run(static_cast<std::size_t>(std::min(length, count - first)));
            expand_blocks(GetParam(), golden.bytes.data(), first, run);
            for (std::size_t i = 0; i < run.size(); ++i)
                ASSERT_TRUE(same_bits(run[i], golden.numbers[static_cast<std::size_t>(first) + i])) << first << " + " << i;
        }
}

/// The description of a number is correct: its parts give the number.
TEST_P(Blocks, SayHowEachNumberIsPacked) {
    const GoldenBlocks golden = golden_blocks(GetParam());
    const BlockFormat& format = block_format(GetParam());
    for (std::size_t i = 0; i < golden.numbers.size(); ++i) {
        const auto index = static_cast<std::int64_t>(i);
        const BlockNumber number = block_number(GetParam(), golden.bytes.data(), index);
        EXPECT_EQ(number.block, index / format.numbers);
        EXPECT_EQ(number.place, index % format.numbers);
        EXPECT_EQ(number.group, index % format.numbers / format.group);
        const double whole =
            static_cast<double>(number.scale) * number.factor * number.quantum - static_cast<double>(number.least) * number.least_factor;
        ASSERT_TRUE(same_bits(static_cast<float>(whole), golden.numbers[i]) || whole == golden.numbers[i]) << i;
    }
}

TEST_P(Blocks, WithoutAScaleAreFound) {
    GoldenBlocks golden = golden_blocks(GetParam());
    const BlockFormat& format = block_format(GetParam());
    const std::int64_t count = static_cast<std::int64_t>(golden.bytes.size()) / format.bytes;
    EXPECT_FALSE(find_block_without_scale(GetParam(), golden.bytes.data(), count));
    // The last block contains its scale; an infinite scale gives NaNs.
    std::byte* const last = golden.bytes.data() + (count - 1) * format.bytes;
    int places = 0;
    for (std::int64_t at = 0; at + 1 < format.bytes; at += 2) {
        const std::vector<std::byte> before(last, last + format.bytes);
        last[at] = std::byte{0}, last[at + 1] = std::byte{0x7C};
        std::vector<float> numbers(static_cast<std::size_t>(format.numbers));
        expand_blocks(GetParam(), last, 0, numbers);
        const bool odd = std::any_of(numbers.begin(), numbers.end(), [](float number) { return !std::isfinite(number); });
        const auto found = find_block_without_scale(GetParam(), golden.bytes.data(), count);
        EXPECT_EQ(found.has_value(), odd) << at;
        EXPECT_EQ(found.value_or(count - 1), count - 1);
        places += odd ? 1 : 0;
        std::copy(before.begin(), before.end(), last);
    }
    EXPECT_GE(places, 1);
}

INSTANTIATE_TEST_SUITE_P(EveryKind, Blocks, testing::ValuesIn(kEveryKind),
                         [](const auto& kind) { return std::string(block_format(kind.param).name); });

}  // namespace
}  // namespace attn
