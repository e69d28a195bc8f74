/// The form of rotary positions, found in numbers that were rotated by our own rule (plan/rotary.hpp) or by hand.

#include "engine/recording/known_rotation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace attn::recording {
namespace {

Numbers heads(std::int64_t positions, std::int64_t width, unsigned seed) {
    Numbers numbers{"BHTD", {2, 3, positions, width}, {}, {}, 0x1p-23};
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for (std::int64_t i = 0; i < 6 * positions * width; ++i) numbers.values.push_back(normal(random));
    numbers.slack.assign(numbers.values.size(), 0);
    return numbers;
}

struct Turn {
    std::int64_t size;
    bool neighbours;
    double base, factor = 1, start = 0;
};

/// As float32 code would store it.
Numbers turned(Numbers numbers, const Turn& turn) {
    const std::int64_t width = numbers.shape[3], positions = numbers.shape[2];
    for (std::int64_t row = 0; row < numbers.count() / width; ++row)
        for (std::int64_t pair = 0; pair < turn.size / 2; ++pair) {
            const double angle = (static_cast<double>(row % positions) + turn.start) * turn.factor *
                                 std::pow(turn.base, -2.0 * static_cast<double>(pair) / static_cast<double>(turn.size));
            const std::int64_t first = turn.neighbours ? 2 * pair : pair, second = turn.neighbours ? first + 1 : pair + turn.size / 2;
            double& a = numbers.values[static_cast<std::size_t>(row * width + first)];
            double& b = numbers.values[static_cast<std::size_t>(row * width + second)];
            const double x = a, y = b;
            a = static_cast<float>(x * std::cos(angle) - y * std::sin(angle));
            b = static_cast<float>(x * std::sin(angle) + y * std::cos(angle));
        }
    return numbers;
}

TEST(KnownRotation, FindsPairsBaseAndSize) {
    for (const std::int64_t positions : {2, 3, 9, 40})
        for (const std::int64_t size : {4, 6, 16, 32})
            for (const bool neighbours : {false, true})
                for (const double base : {10000.0, 500000.0, 1000000.0, 100.0, 1234.0}) {
                    SCOPED_TRACE(testing::Message()
                                 << positions << " positions, " << size << " numbers, base " << base << ", " << neighbours);
                    const Numbers before = heads(positions, 32, 1);
                    KnownRotation rotation;
                    ASSERT_TRUE(rotation.keep(before, turned(before, {size, neighbours, base})));
                    EXPECT_EQ(rotation.form()->size, size);
                    EXPECT_EQ(rotation.form()->neighbours, neighbours);
                    if (base != 1234) EXPECT_EQ(rotation.form()->base, base);
                    else EXPECT_NEAR(rotation.form()->base, base, 1);
                    const Numbers keys = heads(positions, 32, 2);
                    EXPECT_TRUE(rotation.keep(keys, turned(keys, {size, neighbours, base})));
                    EXPECT_FALSE(rotation.keep(keys, turned(keys, {size, !neighbours, base})));
                    EXPECT_FALSE(rotation.keep(keys, turned(keys, {size, neighbours, 3 * base})));
                }
}

TEST(KnownRotation, NoOtherTurnIsTakenForOne) {
    const Numbers before = heads(7, 8, 3);
    const auto is_kept = [&](const Numbers& after) { return KnownRotation().keep(before, after); };
    EXPECT_TRUE(is_kept(turned(before, {8, false, 10000})));
    EXPECT_FALSE(is_kept(before)) << "nothing was turned";
    EXPECT_FALSE(is_kept(turned(before, {8, false, 10000, 0.5}))) << "a stretched one";
    EXPECT_FALSE(is_kept(turned(before, {8, false, 10000, 1, 3}))) << "positions that begin with 3";
    EXPECT_FALSE(is_kept(turned(before, {8, false, 10000, -1}))) << "the other way round";
    Numbers longer = turned(before, {8, false, 10000});
    for (double& number : longer.values) number *= 1.1;
    EXPECT_FALSE(is_kept(longer));
    Numbers one_off = turned(before, {8, false, 10000});
    one_off.values[100] += 0.1;
    EXPECT_FALSE(is_kept(one_off));
    Numbers nan = turned(before, {8, true, 10000});
    nan.values[3] = std::nan("");
    EXPECT_FALSE(is_kept(nan));
}

TEST(KnownRotation, NeighboursBecomeHalves) {
    EXPECT_EQ(halves_of_neighbours({true, 10000, 6}, 8), (std::vector<std::int64_t>{0, 3, 1, 4, 2, 5, 6, 7}));
}

}  // namespace
}  // namespace attn::recording
