// Memory grows only with the recorded tensors, measured with the program's own `new`.
#include <gtest/gtest.h>

#include "engine/model/transformer.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/train/train_step.hpp"
#include "tests/engine/io_support.hpp"

namespace attn {
namespace {

/// The model sizes used for speed measurements.
struct Size {
    const char* name;
    std::int64_t length, batch, d_model, heads, layers, d_ff;
    double trace_bytes_per_token;  ///< values of all stages, at full length
};
constexpr Size kSizes[] = {
    {"tiny", 64, 32, 64, 4, 2, 256, 21516}, {"small", 128, 16, 128, 4, 4, 512, 82444}, {"medium", 256, 8, 384, 6, 6, 1536, 366092}};

Config config_of(const Size& size, std::int64_t length) {
    Config config;
    config.vocab_size = 65;
    config.context_length = length;
    config.d_model = size.d_model;
    config.num_heads = size.heads;
    config.num_layers = size.layers;
    config.d_ff = size.d_ff;
    config.tied_lm_head = false;
    return config;
}

struct CountingBatch {
    CountingBatch(std::int64_t sequences, std::int64_t length)
        : tokens{length, {}, std::vector<std::int64_t>(static_cast<std::size_t>(sequences), length)} {
        for (std::int64_t i = 0; i < sequences * length; ++i) {
            tokens.ids.push_back(static_cast<std::int32_t>(i * 7 % 65));
            targets.push_back(static_cast<std::int32_t>(i * 5 % 65));
        }
    }
    TokenBatch tokens;
    std::vector<std::int32_t> targets;
};

ForwardSettings causal() {
    ForwardSettings settings;
    settings.masks.causal = true;
    return settings;
}

double bytes_of(const std::vector<RecordedStage<float>>& stages) {
    double sum = 0;
    for (const auto& stage : stages) sum += static_cast<double>(stage.value.size()) * sizeof(float);
    return sum;
}

struct Measured {
    double peak, recorded;
};

Measured measure_trace(const Size& size, std::int64_t length) {
    const auto parameters = std::make_shared<const Parameters<float>>(config_of(size, length));
    const CountingBatch batch(1, length);
    const test::AllocationWatch watch;
    const auto trace = trace_forward<float>(parameters, batch.tokens, {}, causal());
    return {static_cast<double>(watch.peak()), bytes_of(trace.stages)};
}

Measured measure_gradients(const Size& size, std::int64_t length) {
    const Parameters<float> parameters(config_of(size, length));
    const CountingBatch batch(1, length);
    const test::AllocationWatch watch;
    const auto gradients = trace_gradients<float>(parameters, batch.tokens, {}, batch.targets, causal());
    return {static_cast<double>(watch.peak()), 2 * bytes_of(gradients.stages)};  // values and gradients
}

/// Memory of a training step beyond the parameters, gradients and moments; `recorded` is what a trace of the same batch would need.
Measured measure_step(const Size& size, std::int64_t length, std::int64_t sequences) {
    const Parameters<float> parameters(config_of(size, length));
    const CountingBatch batch(sequences, length);
    TrainSettings settings;
    settings.forward = causal();
    TrainingState<float> state(parameters);
    const test::AllocationWatch watch;
    state.step(batch.tokens, {}, batch.targets, settings);
    return {static_cast<double>(watch.peak()), static_cast<double>(sequences) * measure_gradients(size, length).recorded};
}

class Memory : public testing::Test {
protected:
    // Counts this thread's allocations. Scratch memory is kept by the thread and has reached its full size after the largest run.
    Memory() {
        measure_step(kSizes[0], 128, 4);
        measure_trace(kSizes[0], 128);
    }
    const ThreadScope scope_{1};
};

TEST_F(Memory, OfATraceGrowsAsItsStagesDo) {
    for (const auto measure : {measure_trace, measure_gradients})
        for (std::int64_t length = 16; length < 128; length *= 2) {
            const Measured one = measure(kSizes[0], length), two = measure(kSizes[0], 2 * length);
            EXPECT_GE(two.peak, two.recorded) << "the count sees the stages";
            const double growth = (two.peak - one.peak) / (two.recorded - one.recorded);
            EXPECT_TRUE(growth <= 1.25) << length << ": " << growth;
        }
}

TEST_F(Memory, OfATrainingStepGrowsNoFasterThanWhatItComputes) {
    for (std::int64_t length = 16; length < 128; length *= 2) {
        const Measured one = measure_step(kSizes[0], length, 32), two = measure_step(kSizes[0], 2 * length, 32);
        const double growth = (two.peak - one.peak) / (two.recorded - one.recorded);
        EXPECT_TRUE(growth <= 1) << length << ": " << growth;
    }
    // A batch is processed a few sequences at a time; additional ones only need memory for their ids.
    const double few = measure_step(kSizes[0], 128, 8).peak, many = measure_step(kSizes[0], 128, 32).peak;
    EXPECT_TRUE(many - few <= 24 * 128 * 64.0) << few << " " << many;
}

TEST_F(Memory, OfTheMeasuredModelsIsKnownPerToken) {
    for (const Size& size : kSizes) {
        const Measured trace = measure_trace(size, size.length);
        const double per_token = trace.recorded / static_cast<double>(size.length);
        EXPECT_EQ(per_token, size.trace_bytes_per_token) << size.name;
        const double tokens = static_cast<double>(size.length * size.batch);
        RecordProperty(std::string(size.name) + "_trace_peak_per_token", static_cast<int>(trace.peak / static_cast<double>(size.length)));
        if (std::string_view(size.name) == "medium") continue;  // one step of it takes seconds
        const Measured step = measure_step(size, size.length, size.batch);
        RecordProperty(std::string(size.name) + "_step_peak_per_token", static_cast<int>(step.peak / tokens));
        std::printf("%s: a trace records %.0f bytes a token and holds %.0f at most; a training step holds %.0f\n", size.name, per_token,
                    trace.peak / static_cast<double>(size.length), step.peak / tokens);
    }
}

}  // namespace
}  // namespace attn
