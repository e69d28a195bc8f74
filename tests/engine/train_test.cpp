#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/model/transformer.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/tensor/random.hpp"
#include "engine/train/train_step.hpp"
#include "tests/engine/io_support.hpp"

namespace attn {
namespace {

Config tiny_config() {
    Config config;
    config.vocab_size = 11;
    config.context_length = 16;
    config.d_model = 24;
    config.num_heads = 3;
    config.num_layers = 2;
    config.d_ff = 40;
    config.tied_lm_head = false;
    config.init = Init::Gpt2;
    return config;
}

struct TrainingBatch {
    TokenBatch tokens;
    std::vector<std::int32_t> targets;
};

/// Counts upwards from `first`: the next token is the last one plus 1.
TrainingBatch counting(std::int64_t batches, std::int64_t length, std::int32_t vocab, std::int32_t first = 0) {
    TrainingBatch out{{length, {}, std::vector<std::int64_t>(static_cast<std::size_t>(batches), length)}, {}};
    for (std::int64_t b = 0; b < batches; ++b)
        for (std::int64_t t = 0; t < length; ++t) {
            out.tokens.ids.push_back(static_cast<std::int32_t>((first + b * 3 + t) % vocab));
            out.targets.push_back((out.tokens.ids.back() + 1) % vocab);
        }
    return out;
}

TrainSettings settings() {
    TrainSettings out;
    out.schedule.rate = 3e-3;
    out.forward.masks.causal = true;
    return out;
}

TEST(Adamw, EqualsItsDefinition) {
    const Config config = tiny_config();
    Parameters<double> parameters = initial_parameters<double>(config), gradients = initial_parameters<double>(config);
    const std::int64_t n = parameters.count();
    std::vector<double> p(parameters.data(), parameters.data() + n), m(p.size()), v(p.size());
    Adamw<double> optimizer(parameters.layout());
    const AdamwSettings s{0.8, 0.9, 1e-6, 0.3};
    for (int t = 1; t <= 4; ++t) {
        for (std::int64_t i = 0; i < n; ++i) gradients.data()[i] = std::sin(static_cast<double>(i * t));
        optimizer.step(s, 0.01, 0.5, gradients, parameters);
        for (const ParameterInfo& info : parameters.layout().entries())
            for (std::int64_t i = info.offset; i < info.offset + info.shape.count(); ++i) {
                const std::size_t at = static_cast<std::size_t>(i);
                const double g = 0.5 * gradients.data()[i];
                if (info.shape.rank() == 2) p[at] -= 0.01 * 0.3 * p[at];
                m[at] = 0.8 * m[at] + 0.2 * g;
                v[at] = 0.9 * v[at] + 0.1 * g * g;
                p[at] -= 0.01 * (m[at] / (1 - std::pow(0.8, t))) / (std::sqrt(v[at] / (1 - std::pow(0.9, t))) + 1e-6);
                ASSERT_TRUE(std::abs(parameters.data()[i] - p[at]) <= 1e-13) << info.name << " step " << t;
            }
    }
}

TEST(Adamw, RefusesSettingsThatCannotWork) {
    Parameters<float> parameters = initial_parameters<float>(tiny_config());
    const Parameters<float> gradients = parameters;
    Adamw<float> optimizer(parameters.layout());
    const auto refuses = [&](AdamwSettings s, double rate, double factor) {
        EXPECT_THROW(optimizer.step(s, rate, factor, gradients, parameters), ConfigError);
    };
    for (const double bad : {-0.1, 1.0, std::nan("")}) {
        refuses({.beta1 = bad}, 1e-3, 1);
        refuses({.beta2 = bad}, 1e-3, 1);
    }
    for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) refuses({.eps = bad}, 1e-3, 1);
    for (const double bad : {-1.0, std::nan(""), HUGE_VAL}) refuses({.weight_decay = bad}, 1e-3, 1);
    for (const double bad : {-1.0, std::nan(""), HUGE_VAL}) refuses({}, bad, 1);
    for (const double bad : {std::nan(""), HUGE_VAL}) refuses({}, 1e-3, bad);
    EXPECT_EQ(optimizer.steps(), 0);
    EXPECT_EQ(std::memcmp(parameters.data(), gradients.data(), static_cast<std::size_t>(parameters.count()) * sizeof(float)), 0);
}

TEST(Adamw, AHugeGradientLeavesEverythingFinite) {
    Parameters<float> parameters = initial_parameters<float>(tiny_config()), gradients(tiny_config());
    Adamw<float> optimizer(parameters.layout());
    std::fill(gradients.data(), gradients.data() + gradients.count(), 1e20F);  // its square is infinite
    for (int i = 0; i < 3; ++i) optimizer.step({}, 1e-3, 1, gradients, parameters);
    for (const float v : optimizer.second_moments()) ASSERT_TRUE(std::isfinite(v));
    for (std::int64_t i = 0; i < parameters.count(); ++i) ASSERT_TRUE(std::isfinite(parameters.data()[i]));
    EXPECT_TRUE(std::abs(gradient_norm(gradients) / (1e20 * std::sqrt(static_cast<double>(gradients.count()))) - 1) <= 1e-6) << "in double";
}

TEST(Clipping, FollowsTheNormAndRefusesNegativeLimits) {
    EXPECT_EQ(clip_factor(0.5, 1), 1);
    EXPECT_EQ(clip_factor(4, 1), 1 / (4 + 1e-6));
    EXPECT_EQ(clip_factor(1e300, 0), 1);
    EXPECT_THROW(clip_factor(1, -1), ConfigError);
    EXPECT_THROW(clip_factor(1, std::nan("")), ConfigError);
}

TEST(Schedule, WarmsUpAndFalls) {
    Schedule s{ScheduleKind::Constant, 0.1, 0.01, 4, 14};
    EXPECT_DOUBLE_EQ(learning_rate(s, 0), 0.025);
    EXPECT_DOUBLE_EQ(learning_rate(s, 3), 0.1);
    EXPECT_DOUBLE_EQ(learning_rate(s, 1000), 0.1);
    s.kind = ScheduleKind::Linear;
    EXPECT_DOUBLE_EQ(learning_rate(s, 4), 0.1);
    EXPECT_DOUBLE_EQ(learning_rate(s, 9), 0.055);
    EXPECT_DOUBLE_EQ(learning_rate(s, 14), 0.01);
    EXPECT_DOUBLE_EQ(learning_rate(s, 99), 0.01);
    s.kind = ScheduleKind::Cosine;
    EXPECT_DOUBLE_EQ(learning_rate(s, 9), 0.055);
    EXPECT_GT(learning_rate(s, 6), 0.09);
    EXPECT_DOUBLE_EQ(learning_rate(s, 14), 0.01);
    for (const double bad : {-1.0, std::nan(""), HUGE_VAL}) EXPECT_THROW(learning_rate({.rate = bad}, 0), ConfigError);
}

TEST(TrainStep, LearnsToCount) {
    const TrainingBatch batch = counting(8, 12, 11);
    TrainingState<float> state(initial_parameters<float>(tiny_config()));
    const double before = state.evaluate(batch.tokens, {}, batch.targets, settings()).loss;
    EXPECT_NEAR(before, std::log(11.0), 0.1);
    for (int i = 0; i < 150; ++i) ASSERT_TRUE(state.step(batch.tokens, {}, batch.targets, settings()).applied());
    EXPECT_LT(state.evaluate(batch.tokens, {}, batch.targets, settings()).loss, 0.05);
}

TEST(TrainStep, LearnsAnEncoderDecoder) {
    Config config = tiny_config();
    config.architecture = Architecture::EncoderDecoder;
    const TrainingBatch batch = counting(8, 12, 11), source = counting(8, 7, 11, 5);
    TrainingState<float> state(initial_parameters<float>(config));
    for (int i = 0; i < 150; ++i) ASSERT_TRUE(state.step(batch.tokens, source.tokens, batch.targets, settings()).applied());
    EXPECT_LT(state.evaluate(batch.tokens, source.tokens, batch.targets, settings()).loss, 0.05);
}

/// Large enough that every parallel region uses several threads.
TEST(TrainStep, GivesTheSameBitsForAnyNumberOfThreads) {
    Config config = tiny_config();
    config.d_model = 96;
    config.d_ff = 384;
    config.context_length = 128;
    TrainSettings s = settings();
    s.forward.dropout = {.attention = 0.1, .residual = 0.1, .embedding = 0.1, .seed = 9};
    const TrainingBatch batch = counting(4, 128, 11);
    std::vector<double> losses;
    std::vector<float> parameters;
    for (const int threads : {1, 2, 4}) {
        const ThreadScope scope(threads);
        TrainingState<float> state(initial_parameters<float>(config));
        std::vector<double> mine;
        for (int i = 0; i < 4; ++i) mine.push_back(state.step(batch.tokens, {}, batch.targets, s).loss);
        const std::vector<float> end(state.parameters().data(), state.parameters().data() + state.parameters().count());
        if (threads == 1) losses = mine, parameters = end;
        EXPECT_EQ(mine, losses) << threads;
        EXPECT_EQ(end, parameters) << threads;
    }
    EXPECT_NE(losses[0], losses[1]);
}

/// More parameters than are processed in one share, weights larger than the cache, and rows for several blocks of the feed-forward network,
/// the last of them smaller.
Config large_config() {
    Config config = tiny_config();
    config.d_model = 512;
    config.num_heads = 4;
    config.num_layers = 1;
    config.d_ff = 2048;
    config.context_length = 120;
    return config;
}

TEST(TrainStep, ALargeModelHasTheGradientsOfOnePlainPass) {
    const Parameters<float> parameters = initial_parameters<float>(large_config());
    const TrainingBatch batch = counting(5, 120, 11);
    TrainingState<float> state{Parameters<float>(parameters)};
    state.step(batch.tokens, {}, batch.targets, settings());

    ModelPass<float> pass(parameters);  // without packed weights
    Tap<float> tap(false);
    pass.forward(batch.tokens, {}, settings().forward, tap);
    pass.loss(batch.targets);
    pass.backward(tap);
    double difference = 0, size = 0;
    for (std::int64_t i = 0; i < parameters.count(); ++i) {
        const double expected = pass.gradients().data()[i], gap = state.gradients().data()[i] - expected;
        difference += gap * gap, size += expected * expected;
    }
    EXPECT_GT(size, 1e-4);
    EXPECT_TRUE(std::sqrt(difference / size) <= 1e-5) << std::sqrt(difference / size);
}

TEST(TrainStep, ALargeModelHasTheSameBitsForAnyNumberOfThreads) {
    const TrainingBatch batch = counting(5, 120, 11);
    std::vector<float> expected;
    for (const int threads : {1, 3}) {
        const ThreadScope scope(threads);
        TrainingState<float> state(initial_parameters<float>(large_config()));
        for (int i = 0; i < 2; ++i) ASSERT_TRUE(state.step(batch.tokens, {}, batch.targets, settings()).applied());
        const std::vector<float> end(state.parameters().data(), state.parameters().data() + state.parameters().count());
        if (threads == 1) expected = end;
        EXPECT_TRUE(end == expected) << threads << " threads";
    }
}

TEST(TrainStep, ContinuesFromACheckpointBitForBit) {
    TrainSettings s = settings();
    s.forward.dropout = {.attention = 0.1, .residual = 0.1, .embedding = 0.1, .seed = 9};
    s.schedule = {ScheduleKind::Cosine, 3e-3, 0, 2, 8};
    const TrainingBatch batch = counting(2, 10, 11);
    TrainingState<float> whole(initial_parameters<float>(tiny_config())), rest(initial_parameters<float>(tiny_config()));
    for (int i = 0; i < 4; ++i) whole.step(batch.tokens, {}, batch.targets, s);
    rest.restore(whole.parameters(), whole.optimizer().first_moments(), whole.optimizer().second_moments(), whole.steps());
    for (int i = 0; i < 4; ++i)
        EXPECT_EQ(whole.step(batch.tokens, {}, batch.targets, s).loss, rest.step(batch.tokens, {}, batch.targets, s).loss);
    Config other = tiny_config();
    other.d_ff = 41;
    EXPECT_THROW(rest.restore(Parameters<float>(other), {}, {}, 0), ShapeError);
}

TEST(TrainStep, AllocatesNothingAfterTheFirst) {
    TrainSettings s = settings();
    s.forward.dropout = {.attention = 0.1, .residual = 0.1, .embedding = 0.1, .seed = 9};
    const ThreadScope scope(1);  // only this thread's allocations are counted
    for (const Architecture architecture : {Architecture::DecoderOnly, Architecture::EncoderDecoder}) {
        Config config = tiny_config();
        config.architecture = architecture;
        const TrainingBatch first = counting(4, 12, 11), second = counting(4, 12, 11, 7), source = counting(4, 9, 11);
        TrainingState<float> state(initial_parameters<float>(config));
        const test::AllocationWatch at_first;
        state.step(first.tokens, source.tokens, first.targets, s);
        EXPECT_GT(at_first.total(), 0U) << "the watch sees what is allocated";
        const test::AllocationWatch watch;
        state.step(second.tokens, source.tokens, second.targets, s);
        EXPECT_EQ(watch.total(), 0U);
    }
}

/// After the largest batch has been processed, also with padding: masks are rebuilt in existing memory.
TEST(TrainStep, AllocatesNothingForOtherLengths) {
    const ThreadScope scope(1);
    for (const Architecture architecture : {Architecture::DecoderOnly, Architecture::EncoderDecoder}) {
        Config config = tiny_config();
        config.architecture = architecture;
        TrainingState<float> state(initial_parameters<float>(config));
        const auto of_lengths = [&](std::int64_t length, std::vector<std::int64_t> lengths) {
            TrainingBatch batch = counting(4, length, 11);
            batch.tokens.lengths = std::move(lengths);
            return batch;
        };
        const TrainingBatch full = of_lengths(12, {12, 12, 12, 12}), padded = of_lengths(12, {12, 3, 7, 1}),
                            other = of_lengths(12, {2, 12, 12, 9});
        const TrainingBatch shorter = of_lengths(9, {9, 8, 1, 4}), source = of_lengths(10, {10, 3, 4, 9}),
                            other_source = of_lengths(8, {8, 8, 1, 2});
        for (const TrainingBatch* batch : {&full, &padded}) state.step(batch->tokens, source.tokens, batch->targets, settings());
        const test::AllocationWatch watch;
        for (const TrainingBatch* batch : {&other, &shorter, &full, &padded})
            for (const TrainingBatch* from : {&other_source, &source}) state.step(batch->tokens, from->tokens, batch->targets, settings());
        EXPECT_EQ(watch.total(), 0U);
    }
}

/// Sequences are processed a few at a time, in shares, which must not affect the results, not even dropout.
TEST(TrainStep, ABatchCutIntoRunsGivesWhatTheWholeGives) {
    Config config = tiny_config();
    config.context_length = 40;
    TrainSettings s = settings();
    s.forward.dropout = {.attention = 0.1, .residual = 0.1, .embedding = 0.1, .seed = 9};
    for (const std::int64_t batches : {1, 3, 23}) {
        TrainingBatch batch = counting(batches, 40, 11);
        for (std::int64_t b = 0; b < batches; ++b) batch.tokens.lengths[static_cast<std::size_t>(b)] = 40 - b;
        for (std::size_t i = 0; i < batch.targets.size(); i += 7) batch.targets[i] = kIgnoredTarget;
        TrainingState<double> state(initial_parameters<double>(config));
        const Parameters<double> start = state.parameters();
        const StepResult result = state.step(batch.tokens, {}, batch.targets, s);

        ModelPass<double> whole(start);
        ForwardSettings forward = s.forward;
        forward.dropout.seed = CounterRandom(9, 0).bits(0);
        Tap<double> tap(false, {});
        whole.forward(batch.tokens, {}, forward, tap);
        const CrossEntropy loss = whole.loss(batch.targets);
        whole.backward(tap);
        std::int64_t correct = 0;
        for (std::size_t i = 0; i < batch.targets.size(); ++i) {
            const double* row = whole.logits().data() + static_cast<std::int64_t>(i) * config.vocab_size;
            correct += batch.targets[i] != kIgnoredTarget && std::max_element(row, row + config.vocab_size) == row + batch.targets[i];
        }
        EXPECT_EQ(result.correct, correct);
        EXPECT_EQ(result.counted, loss.counted);
        EXPECT_TRUE(std::abs(result.loss - loss.loss) <= 1e-12) << result.loss << " " << loss.loss;
        for (std::int64_t i = 0; i < start.count(); ++i)
            ASSERT_TRUE(std::abs(state.gradients().data()[i] - whole.gradients().data()[i]) <= 1e-12) << batches << " sequences, " << i;
    }
}

/// Training keeps the gradients of two layers only, and the slope instead of the nonlinearity's input; a trace keeps everything. Returns
/// the first parameter whose gradients differ by more than 1e-12, or "".
std::string first_difference(const Parameters<double>& got, const Parameters<double>& expected) {
    for (const ParameterInfo& info : expected.layout().entries())
        for (std::int64_t i = info.offset; i < info.offset + info.shape.count(); ++i)
            if (!(std::abs(got.data()[i] - expected.data()[i]) <= 1e-12)) return info.name;
    return "";
}

TEST(TrainStep, ADifferenceOfGradientsIsFound) {
    Config config = tiny_config();
    config.num_layers = 3;
    const TrainingBatch batch = counting(3, 10, 11), other = counting(3, 10, 11, 5);
    const Parameters<double> start = initial_parameters<double>(config);
    const auto gradients = [&](const TrainingBatch& of) {
        return *trace_gradients<double>(start, of.tokens, {}, of.targets, settings().forward, {}).parameters;
    };
    const Parameters<double> expected = gradients(batch);
    EXPECT_EQ(first_difference(expected, expected), "");
    EXPECT_NE(first_difference(gradients(other), expected), "");
    for (const double wrong : {1e-9, double{NAN}}) {
        Parameters<double> broken = expected;
        broken.find("layers.1.ffn.in.weight")[3] += wrong;
        EXPECT_EQ(first_difference(broken, expected), "layers.1.ffn.in.weight") << wrong;
    }
}

TEST(TrainStep, GradientsOfDeepModelsAreThoseOfATrace) {
    for (const Architecture architecture : {Architecture::DecoderOnly, Architecture::EncoderDecoder})
        for (const NormPlacement norm : {NormPlacement::Pre, NormPlacement::Post})
            for (const std::int64_t layers : {1, 3, 4}) {
                Config config = tiny_config();
                config.architecture = architecture;
                config.norm = norm;
                config.num_layers = layers;
                config.final_norm = norm == NormPlacement::Pre;
                const TrainingBatch batch = counting(3, 10, 11), source = counting(3, 7, 11, 5);
                const bool two = architecture == Architecture::EncoderDecoder;
                const TokenBatch from = two ? source.tokens : TokenBatch{};
                TrainingState<double> state(initial_parameters<double>(config));
                const Parameters<double> start = state.parameters();
                state.step(batch.tokens, from, batch.targets, settings());
                ForwardSettings forward = settings().forward;
                const GradientTrace<double> trace = trace_gradients<double>(start, batch.tokens, from, batch.targets, forward, {});
                ASSERT_EQ(first_difference(state.gradients(), *trace.parameters), "") << layers << " layers";
            }
}

TEST(TrainStep, SkipsABatchWithNothingToPredict) {
    const TrainingBatch batch = counting(2, 5, 11);
    TrainingState<float> state(initial_parameters<float>(tiny_config()));
    const StepResult result = state.step(batch.tokens, {}, std::vector<std::int32_t>(10, kIgnoredTarget), settings());
    EXPECT_FALSE(result.applied());
    EXPECT_EQ(result.counted, 0);
    EXPECT_EQ(result.not_finite, "");
    EXPECT_EQ(state.steps(), 0);
}

TEST(TrainStep, StopsBeforeTheOptimizerWhenSomethingIsNotFinite) {
    const TrainingBatch batch = counting(2, 5, 11);
    Parameters<float> bad = initial_parameters<float>(tiny_config());
    bad.find("layers.1.ffn.in.weight")[3] = NAN;
    TrainingState<float> state(bad);
    const StepResult result = state.step(batch.tokens, {}, batch.targets, settings());
    EXPECT_EQ(result.not_finite, "the loss");
    EXPECT_EQ(state.steps(), 0);
    // A finite loss with an overflowing gradient.
    Parameters<float> steep = initial_parameters<float>(tiny_config());
    for (const char* name : {"layers.0.ffn.out.weight", "layers.1.ffn.out.weight"})
        for (std::int64_t i = 0; i < 40 * 24; ++i) steep.find(name)[i] = 0;
    steep.find("layers.1.ffn.in.weight")[0] = 1e38F;
    steep.find("layers.1.ffn.out.weight")[0] = 1e38F;
    steep.find("layers.1.ffn.in.bias")[0] = -3e38F;
    TrainingState<float> other(steep);
    const StepResult second = other.step(batch.tokens, {}, batch.targets, settings());
    EXPECT_TRUE(second.applied() || !second.not_finite.empty());
    for (std::int64_t i = 0; i < other.parameters().count(); ++i) ASSERT_TRUE(std::isfinite(other.parameters().data()[i]));
}

TEST(TrainStep, ChangesNothingWhenItRefuses) {
    const TrainingBatch batch = counting(2, 5, 11);
    TrainingState<float> state(initial_parameters<float>(tiny_config()));
    TrainSettings s = settings();
    s.clip_norm = -1;
    EXPECT_THROW(state.step(batch.tokens, {}, batch.targets, s), ConfigError);
    EXPECT_THROW(state.step(batch.tokens, {}, std::vector<std::int32_t>(10, 11), settings()), Error);
    EXPECT_EQ(state.steps(), 0);
    const Parameters<float> fresh = initial_parameters<float>(tiny_config());
    EXPECT_EQ(std::memcmp(fresh.data(), state.parameters().data(), static_cast<std::size_t>(fresh.count()) * sizeof(float)), 0);
}

}  // namespace
}  // namespace attn
