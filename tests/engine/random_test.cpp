#include "engine/tensor/random.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

namespace attn {
namespace {

TEST(CounterRandom, DrawsTheNumbersThatItAlwaysHas) {
    // Seeds are stored in documents and runs, and must give the same model in every version.
    const struct {
        std::uint64_t index;
        double normal;
    } known[] = {
        {0, 0x1.1ea73b498737dp-1},    {1, 0x1.13bacff5b5062p+0},          {2, -0x1.55c10a98a6fcap-4},
        {1000, 0x1.4f9a7c6f6872cp-1}, {123456789, -0x1.572b7f4529a5ep-1}, {281474976710655, 0x1.c0dfb02e5a4d5p-2},
    };
    const CounterRandom random(42, 3);
    for (const auto& [index, normal] : known) EXPECT_EQ(random.normal(index), normal) << index;
}

TEST(CounterRandom, DrawsTheSameBitsOneAtATimeAndTogether) {
    std::mt19937_64 pick(1);
    for (int round = 0; round < 60; ++round) {
        const CounterRandom random(pick(), pick() % 100);
        const std::uint64_t first = round % 2 == 0 ? pick() % 1000 : pick();
        std::vector<double> together(pick() % 3000, 77.0);
        random.normal(first, together);
        for (std::size_t i = 0; i < together.size(); ++i)
            ASSERT_EQ(std::bit_cast<std::uint64_t>(together[i]), std::bit_cast<std::uint64_t>(random.normal(first + i)))
                << "number " << i << " of " << together.size() << ", round " << round;
    }
}

}  // namespace
}  // namespace attn
