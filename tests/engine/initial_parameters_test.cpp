#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "engine/ops/parallel.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {
namespace {

template <class Scalar>
bool same_bits(const Parameters<Scalar>& a, const Parameters<Scalar>& b) {
    return a.count() == b.count() && std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.count()) * sizeof(Scalar)) == 0;
}

Config random_config(std::mt19937& random) {
    const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    Config config;
    config.vocab_size = pick(1, 40);
    config.context_length = pick(1, 40);
    config.num_heads = pick(1, 3);
    config.d_model = config.num_heads * pick(1, 6);
    config.num_layers = pick(1, 2);
    config.d_ff = pick(1, 20);
    config.tied_lm_head = pick(0, 1) == 1;
    config.position = static_cast<PositionKind>(pick(0, 2));
    config.init = static_cast<Init>(pick(0, 3));
    config.seed = static_cast<std::uint64_t>(pick(0, 100));
    return config;
}

TEST(InitialParameters, ThoseDrawnBeforeOnlySaveTime) {
    std::mt19937 random(3);
    const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    for (int round = 0; round < 200; ++round) {
        const Config before = random_config(random);
        Config after = round % 4 == 0 ? random_config(random) : before;
        after.vocab_size = pick(1, 40);
        after.context_length = pick(1, 40);
        if (round % 4 == 1) after.seed += 1;
        if (round % 4 == 2) after.init = static_cast<Init>(pick(0, 3));
        const auto drawn = initial_parameters<double>(before);
        EXPECT_TRUE(same_bits(initial_parameters(after, &drawn), initial_parameters<double>(after))) << "round " << round;
    }
}

TEST(InitialParameters, OtherSeedsGiveOtherNumbers) {
    Config config;
    config.vocab_size = 5;
    const auto first = initial_parameters<float>(config);
    config.seed += 1;
    EXPECT_FALSE(same_bits(first, initial_parameters<float>(config)));
}

TEST(InitialParameters, DoNotDependOnTheNumberOfThreads) {
    Config config;
    config.vocab_size = 50;
    config.d_model = 64;
    const auto drawn_by = [&](int threads) {
        const ThreadScope scope(threads);
        return initial_parameters<float>(config);
    };
    EXPECT_TRUE(same_bits(drawn_by(1), drawn_by(4)));
}

}  // namespace
}  // namespace attn
