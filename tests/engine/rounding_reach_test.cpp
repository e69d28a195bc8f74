// Which differences of trained parameters may be attributed to rounding, and which may not.
#include "engine/check/rounding_reach.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/check/case_file.hpp"
#include "engine/model/transformer.hpp"

namespace attn::check {
namespace {

constexpr std::int64_t kBatch = 2, kLength = 6, kSteps = 30;

Config small_config(std::uint64_t seed) {
    Config config;
    config.vocab_size = 13;
    config.context_length = 8;
    config.d_model = 12;
    config.num_heads = 3;
    config.num_layers = 2;
    config.seed = seed;
    return config;
}

/// The same steps in the precision of `state`, on tokens drawn from `seed`.
template <class Scalar>
void train(TrainingState<Scalar>& state, RoundingReach* reach, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<std::int32_t> id(0, 12);
    TrainSettings settings;
    settings.schedule.rate = 1e-2;
    settings.clip_norm = 1;
    settings.forward.masks.causal = true;
    for (std::int64_t step = 0; step < kSteps; ++step) {
        std::vector<std::int32_t> ids(kBatch * kLength), targets(kBatch * kLength);
        for (std::int32_t& token : ids) token = id(random);
        for (std::int32_t& token : targets) token = id(random);
        const StepResult result = state.step({kLength, ids, {kLength, kLength}}, {}, targets, settings);
        if (reach != nullptr) reach->add_step(state, result, settings);
    }
}

/// The same run from parameters perturbed as in a check.
template <class Scalar>
void add_perturbed_runs(const Parameters<Scalar>& start, const Parameters<Scalar>& end, RoundingReach& reach, unsigned seed) {
    for (std::uint64_t run = 0; run < kPerturbedRuns; ++run) {
        TrainingState<Scalar> state(perturbed(start, run));
        train(state, nullptr, seed);
        reach.add_run(end, state.parameters());
    }
}

bool of_keys(const ParameterInfo& info, std::int64_t i) {
    const std::int64_t width = info.shape.count() / 3;
    return info.name.ends_with("attention.qkv.bias") && i - info.offset >= width && i - info.offset < 2 * width;
}

TEST(RoundingReach, CoversWhatFloatAndDoubleMakeOfTheSameRunAndLittleElse) {
    const Tolerance tolerance;
    std::int64_t beyond = 0, ordinary = 0, loose = 0;
    // In the last two runs a number drifts that others depend on, further than their own gradients would explain.
    for (const unsigned seed : {1U, 2U, 3U, 4U, 20U, 25U}) {
        const Config config = small_config(seed);
        const Parameters<float> start_in_float = initial_parameters<float>(config);
        TrainingState<float> in_float(start_in_float);
        Parameters<double> start(config);
        std::copy(in_float.parameters().data(), in_float.parameters().data() + start.count(), start.data());
        TrainingState<double> in_double(std::move(start));
        RoundingReach reach(in_float.parameters().layout()), exact(in_double.parameters().layout());
        train(in_float, &reach, seed);
        train(in_double, &exact, seed);
        add_perturbed_runs(start_in_float, in_float.parameters(), reach, seed);
        for (const ParameterInfo& info : in_float.parameters().layout().entries()) {
            for (std::int64_t i = info.offset; i < info.offset + info.shape.count(); ++i) {
                const double expected = in_double.parameters().data()[i];
                const double gap = std::abs(static_cast<double>(in_float.parameters().data()[i]) - expected);
                const double allowed = tolerance.absolute + tolerance.relative * std::abs(expected);
                const double reached = reach.values()[static_cast<std::size_t>(i)];
                EXPECT_TRUE(gap <= std::max(allowed, reached))
                    << "seed " << seed << ": " << info.name << " " << i - info.offset << ": " << gap << ", reach " << reached;
                if (gap > allowed) ++beyond;
                if (of_keys(info, i)) continue;
                ++ordinary;
                if (reached > allowed) ++loose;
            }
        }
    }
    EXPECT_GT(beyond, 0) << "nothing needed the allowance";
    EXPECT_LT(loose, ordinary / 50) << "of " << ordinary;
}

TEST(RoundingReach, NothingIsAllowedWithoutAGradient) {
    const Config config = small_config(3);
    TrainingState<float> state(initial_parameters<float>(config));
    RoundingReach reach(state.parameters().layout());
    for (const double value : reach.values()) EXPECT_EQ(value, 0);
    train(state, &reach, 3);
    // The texts are shorter than the context, so the last two positions were never used.
    const auto& entries = state.parameters().layout().entries();
    const auto found =
        std::find_if(entries.begin(), entries.end(), [](const ParameterInfo& info) { return info.name == "position_embedding.weight"; });
    ASSERT_NE(found, entries.end());
    for (std::int64_t i = 0; i < found->shape.count(); ++i)
        EXPECT_EQ(reach.values()[static_cast<std::size_t>(found->offset + i)] > 0, i < kLength * config.d_model) << i;
}

TEST(RoundingReach, TheBiasOfKeysIsUndeterminedEvenWhereItsGradientCancelsToNothing) {
    std::int64_t cancelled = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const Config config = small_config(seed);
        TrainingState<float> state(initial_parameters<float>(config));
        RoundingReach reach(state.parameters().layout());
        TrainSettings settings;
        settings.schedule.rate = 1e-2;
        settings.forward.masks.causal = true;
        const std::vector<std::int32_t> ids{1, 2}, targets{3, 4};
        reach.add_step(state, state.step({2, ids, {2}}, {}, targets, settings), settings);
        for (const ParameterInfo& info : state.parameters().layout().entries())
            for (std::int64_t i = info.offset; i < info.offset + info.shape.count(); ++i) {
                if (!of_keys(info, i)) continue;
                if (state.optimizer().second_moments()[static_cast<std::size_t>(i)] == 0) ++cancelled;
                EXPECT_GT(reach.values()[static_cast<std::size_t>(i)], 1e-3) << info.name << " " << i - info.offset;
            }
    }
    EXPECT_GT(cancelled, 0) << "the test needs a gradient of exactly 0";
}

TEST(RoundingReach, ANumberBeyondItFails) {
    const std::vector<double> expected{1, 1, 1, 1}, computed{1, 1.01, 1.03, NAN}, reach{0.02, 0.02, 0.02, 0.02};
    const auto compare = [&](std::size_t count) {
        return compare_numbers<double>("out.param", std::span(expected).first(count), std::span(computed).first(count), {},
                                       std::span(reach).first(count));
    };
    EXPECT_TRUE(compare(2).ok);
    EXPECT_EQ(compare(2).undetermined, 1);
    EXPECT_FALSE(compare(3).ok);
    EXPECT_FALSE(compare(4).ok);
    EXPECT_EQ(compare(4).worst_index, 3);
    EXPECT_FALSE(compare_numbers<double>("out.param", expected, computed, {}).ok);
    const std::vector<double> endless(4, INFINITY);
    EXPECT_FALSE(compare_numbers<double>("out.param", expected, computed, {}, endless).ok) << "NaN is never a matter of rounding";
}

}  // namespace
}  // namespace attn::check
