/// attnscope-dev bench train: training steps of three model sizes.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>

#include "app/dev/bench.hpp"
#include "app/dev/machine_peak.hpp"
#include "app/dev/process_memory.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/random.hpp"
#include "engine/train/train_step.hpp"

namespace attn::app {
namespace {

constexpr std::int64_t kVocabulary = 65, kWarmUp = 3;

struct TrainSize {
    const char* name;
    std::int64_t positions, batch, d_model, heads, layers, d_ff;
    std::int64_t steps;  ///< default number of measured steps
};
constexpr std::array<TrainSize, 3> kSizes = {{
    {"tiny", 64, 32, 64, 4, 2, 256, 200},
    {"small", 128, 16, 128, 4, 4, 512, 50},
    {"medium", 256, 8, 384, 6, 6, 1536, 10},
}};

struct BenchTrainOptions : BenchOptions {
    std::string config;
};

Config config_of(const TrainSize& size) {
    Config config;
    config.architecture = Architecture::DecoderOnly;
    config.vocab_size = kVocabulary;
    config.context_length = size.positions;
    config.d_model = size.d_model;
    config.num_heads = size.heads;
    config.num_layers = size.layers;
    config.d_ff = size.d_ff;
    config.tied_lm_head = false;
    config.norm = NormPlacement::Pre;
    config.activation = Activation::GeluTanh;
    config.position = PositionKind::Learned;
    config.init = Init::Gpt2;
    config.seed = 1;
    return config;
}

Operations operations_of(const TrainSize& size) {
    const auto count = [&](double cells) {  // of one map
        const double rows = static_cast<double>(size.batch * size.positions), c = static_cast<double>(size.d_model);
        const double projections = 2 * rows * c * (3 * c + c), maps = 2 * 2 * static_cast<double>(size.batch) * cells * c;
        const double feed_forward = 2 * 2 * rows * c * static_cast<double>(size.d_ff), head = 2 * rows * c * kVocabulary;
        return 3 * (static_cast<double>(size.layers) * (projections + maps + feed_forward) + head);
    };
    const double t = static_cast<double>(size.positions);
    return {count(t * t), count(t * (t + 1) / 2)};
}

/// Learnable data: with a probability of 7/8 the next token is a fixed function of the last one, otherwise random.
void draw_batch(const TrainSize& size, std::int64_t step, TokenBatch& tokens, std::vector<std::int32_t>& targets) {
    const CounterRandom random(1, static_cast<std::uint64_t>(step));
    tokens.length = size.positions;
    tokens.lengths.assign(static_cast<std::size_t>(size.batch), size.positions);
    tokens.ids.clear();
    targets.clear();
    std::uint64_t index = 0;
    for (std::int64_t b = 0; b < size.batch; ++b) {
        std::int64_t token = static_cast<std::int64_t>(random.bits(index++) % kVocabulary);
        for (std::int64_t t = 0; t < size.positions; ++t) {
            tokens.ids.push_back(static_cast<std::int32_t>(token));
            const std::uint64_t bits = random.bits(index++);
            token = bits % 8 == 0 ? static_cast<std::int64_t>(bits / 8 % kVocabulary) : (7 * token + 3) % kVocabulary;
            targets.push_back(static_cast<std::int32_t>(token));
        }
    }
}

struct TrainResult : BenchResult {
    double first_loss = 0, last_loss = 0;
    std::int64_t parameters = 0;
};

void time_steps(const TrainSize& size, std::int64_t steps, KernelBuild fastest, TrainResult& result) {
    TrainingState<float> state(initial_parameters<float>(config_of(size)));
    result.parameters = state.parameters().count();
    TrainSettings settings;
    settings.forward.masks.causal = true;
    TokenBatch tokens;
    std::vector<std::int32_t> targets;
    StepTimes times(fastest, result.threads);
    for (std::int64_t step = -kWarmUp; step < steps; ++step) {
        draw_batch(size, step + kWarmUp, tokens, targets);
        StepResult done;
        times.run([&] { done = state.step(tokens, {}, targets, settings); }, step >= 0);
        if (!done.applied()) throw Error("step " + std::to_string(step + kWarmUp) + " made " + done.not_finite + " infinite or NaN");
        if (step == -kWarmUp) result.first_loss = done.loss;
        result.last_loss = done.loss;
    }
    result.timing = times.timing();
    result.share_of_momentary_peak = times.share_of_peak(result.operations.full);
}

TrainResult measure(const TrainSize& size, const BenchTrainOptions& options) {
    TrainResult result;
    result.threads = use_threads(options);
    result.operations = operations_of(size);
    result.tokens = static_cast<double>(size.batch * size.positions);
    const BuildPeak peak_before = best_multiply_add_peak(result.threads);
    const std::int64_t before = process_memory().resident;
    time_steps(size, options.steps > 0 ? options.steps : size.steps, peak_before.build, result);
    result.peak_bytes = process_memory().peak;
    // Parameters, gradients and the optimizer's two moments do not depend on the number of tokens.
    const std::int64_t of_the_model = 4 * static_cast<std::int64_t>(sizeof(float)) * result.parameters;
    result.bytes_per_token = static_cast<double>(std::max<std::int64_t>(0, result.peak_bytes - before - of_the_model)) / result.tokens;
    result.peak_gflops = std::max(peak_before.gflops, multiply_add_gflops(peak_before.build, result.threads));
    return result;
}

void run(const BenchTrainOptions& options) {
    const TrainSize& size = *std::find_if(kSizes.begin(), kSizes.end(), [&](const TrainSize& s) { return s.name == options.config; });
    const TrainResult result = measure(size, options);
    if (!options.json) {
        fmt::print("train {}: T {}, B {}, d_model {}, {} heads, {} layers, d_ff {}, {} parameters\n{}  loss {:.4f} at the start, {:.4f} at "
                   "the end\n",
                   size.name, size.positions, size.batch, size.d_model, size.heads, size.layers, size.d_ff, result.parameters,
                   describe(result, "step"), result.first_loss, result.last_loss);
        return;
    }
    Json line{
        {"bench", "train"},    {"config", size.name},   {"T", size.positions}, {"batch", size.batch},  {"d_model", size.d_model},
        {"heads", size.heads}, {"layers", size.layers}, {"d_ff", size.d_ff},   {"vocab", kVocabulary}, {"parameters", result.parameters}};
    append_fields(result, line);
    line["first_loss"] = result.first_loss;
    line["last_loss"] = result.last_loss;
    fmt::print("{}\n", line.dump());
}

}  // namespace

void add_bench_train(CliCommand bench) {
    auto options = std::make_shared<BenchTrainOptions>();
    CliCommand command = bench.command("train", "Measure training steps");
    std::vector<std::string> names;
    for (const TrainSize& size : kSizes) names.push_back(size.name);
    command.option("--config", options->config, "Size of the model").required().one_of(names);
    add_bench_options(command, *options);
    std::string sizes;
    for (const TrainSize& s : kSizes)
        sizes += fmt::format("  {:<6}  T {}, B {}, d_model {}, {} heads, {} layers, d_ff {}; {} steps\n", s.name, s.positions, s.batch,
                             s.d_model, s.heads, s.layers, s.d_ff, s.steps);
    command.footer(sizes +
                   "Decoder-only, pre-norm, GELU (tanh), learned positions, untied head, no dropout, vocabulary 65, float. A step is "
                   "forward,\ncross-entropy, backward, clipping and AdamW on a new synthetic batch, drawn outside the measured time. The "
                   "first loss is\nthat of the first step, before the 3 that warm up. Bytes per token: what the process grew by, less 16 "
                   "bytes per parameter for\nthe parameters, their gradients and AdamW's two moments, divided by the tokens of a batch.");
    command.on_run([options] { run(*options); });
}

}  // namespace attn::app
