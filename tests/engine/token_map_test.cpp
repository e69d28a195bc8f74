/// Maps between tokens come back number by number, whether they are held whole or not.

#include "engine/trace/token_map.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "engine/tensor/error.hpp"

namespace attn {
namespace {

Tensor<float> random_map(std::int64_t sequences, std::int64_t positions, bool looks_ahead) {
    std::mt19937 random(static_cast<unsigned>(100 * sequences + positions));
    std::uniform_real_distribution<float> number(-1, 1);
    Tensor<float> map({{Axis::B, sequences}, {Axis::T, positions}, {Axis::S, positions}});
    for (std::int64_t b = 0; b < sequences; ++b)
        for (std::int64_t t = 0; t < positions; ++t)
            for (std::int64_t s = 0; s < positions; ++s) map(b, t, s) = s > t && !looks_ahead ? 0.F : number(random);
    return map;
}

int wrong_numbers(const TokenMap& held, const Tensor<float>& whole) {
    int wrong = 0;
    for (std::int64_t b = 0; b < held.sequences(); ++b) {
        const std::vector<float> sequence = held.sequence(b);
        for (std::int64_t t = 0; t < held.positions(); ++t) {
            std::vector<float> row(static_cast<std::size_t>(held.positions()), -9);
            held.copy_row(b, t, row.data());
            for (std::int64_t s = 0; s < held.positions(); ++s) {
                const float expected = whole(b, t, s), in_sequence = sequence[static_cast<std::size_t>(t * held.positions() + s)];
                wrong += held(b, t, s) != expected || row[static_cast<std::size_t>(s)] != expected || in_sequence != expected;
            }
        }
    }
    return wrong;
}

TEST(TokenMap, ReturnsWhatItWasGiven) {
    for (std::int64_t sequences = 1; sequences <= 3; ++sequences)
        for (std::int64_t positions = 1; positions <= 9; ++positions) {
            SCOPED_TRACE(positions);
            const auto bytes = [&](std::int64_t cells) { return static_cast<std::size_t>(sequences * cells) * sizeof(float); };
            Tensor<float> whole = random_map(sequences, positions, false);
            const TokenMap lower(whole);
            EXPECT_TRUE(lower.is_lower());
            EXPECT_EQ(lower.bytes(), bytes(positions * (positions + 1) / 2));
            EXPECT_EQ(wrong_numbers(lower, whole), 0);
            whole(sequences - 1, positions - 1, 0) += 1;
            EXPECT_EQ(wrong_numbers(lower, whole), 1);

            if (positions == 1) continue;
            whole = random_map(sequences, positions, true);
            const TokenMap all(whole);
            EXPECT_FALSE(all.is_lower());
            EXPECT_EQ(all.bytes(), bytes(positions * positions));
            EXPECT_EQ(wrong_numbers(all, whole), 0);
        }
}

TEST(TokenMap, OneNumberAboveTheDiagonalIsNotLost) {
    for (const float number : {1e-30F, std::numeric_limits<float>::quiet_NaN()}) {
        Tensor<float> whole = random_map(2, 4, false);
        whole(1, 2, 3) = number;
        const TokenMap held(whole);
        EXPECT_FALSE(held.is_lower());
        EXPECT_TRUE(std::isnan(number) ? std::isnan(held(1, 2, 3)) : held(1, 2, 3) == number);
    }
}

TEST(TokenMap, IsSquare) {
    EXPECT_THROW(TokenMap(Tensor<float>({{Axis::B, 1}, {Axis::T, 2}, {Axis::S, 3}})), ShapeError);
    EXPECT_THROW(TokenMap(Tensor<float>({{Axis::T, 2}, {Axis::S, 2}})), ShapeError);
}

}  // namespace
}  // namespace attn
