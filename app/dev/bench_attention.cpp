/// attnscope-dev bench attention: one forward attention that keeps its weights.

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "app/dev/bench.hpp"
#include "app/dev/machine_peak.hpp"
#include "app/dev/process_memory.hpp"
#include "engine/attention/fused_attention.hpp"
#include "engine/tensor/random.hpp"

namespace attn::app {
namespace {

constexpr std::int64_t kHeads = 12, kHeadSize = 64, kWidth = kHeads * kHeadSize;
constexpr std::int64_t kSteps = 50, kWarmUpCalls = 3;

struct AttentionOptions : BenchOptions {
    std::int64_t positions = 0;
    bool causal = false;
};

/// Random queries, keys and values packed in rows [T,3HD], as a model's projection produces them.
Tensor<float> drawn_qkv(std::int64_t positions) {
    Tensor<float> qkv({{Axis::T, positions}, {Axis::N, 3 * kWidth}});
    const CounterRandom random(1, 0);
    for (std::int64_t i = 0; i < qkv.size(); ++i) qkv.data()[i] = static_cast<float>(random.normal(static_cast<std::uint64_t>(i)));
    return qkv;
}

StepTimes time_forward(const AttentionOptions& options, KernelBuild fastest, int threads) {
    const std::int64_t positions = options.positions;
    const Tensor<float> qkv = drawn_qkv(positions);
    CausalZeros zeros;
    Tensor<float> weights, dropped, context({{Axis::T, positions}, {Axis::C, kWidth}});
    const auto part = [&](std::int64_t column) { return HeadsView<const float>{qkv.data() + column, 0, kHeadSize, 3 * kWidth}; };
    const Mask mask = options.causal ? Mask::causal(positions, positions) : Mask(positions, positions);
    const DropoutPattern no_dropout(0, 0, StageId{});
    const AttentionRule rule{mask, 0.125, 1, no_dropout};  // 1 / sqrt(64)
    const AttentionSizes sizes{1, kHeads, positions, positions, kHeadSize, kHeadSize};

    const std::int64_t steps = options.steps > 0 ? options.steps : kSteps;
    StepTimes times(fastest, threads);
    const auto call = [&] {
        fused_attention<float>(part(0), part(kWidth), part(2 * kWidth), rule, sizes, weights, dropped, zeros,
                               {context.data(), 0, kHeadSize, kWidth});
    };
    for (std::int64_t step = -kWarmUpCalls; step < steps; ++step) times.run(call, step >= 0);
    return times;
}

BenchResult measure(const AttentionOptions& options) {
    BenchResult result;
    result.threads = use_threads(options);
    const double positions = static_cast<double>(options.positions), of_a_cell = 2.0 * 2 * kWidth;  // two products
    result.operations = {of_a_cell * positions * positions, options.causal ? of_a_cell * positions * (positions + 1) / 2 : 0};
    result.tokens = positions;
    const BuildPeak peak_before = best_multiply_add_peak(result.threads);
    const std::int64_t before = process_memory().resident;
    const StepTimes times = time_forward(options, peak_before.build, result.threads);
    result.timing = times.timing();
    result.share_of_momentary_peak = times.share_of_peak(result.operations.full);
    result.peak_bytes = process_memory().peak;
    result.bytes_per_token = static_cast<double>(std::max<std::int64_t>(0, result.peak_bytes - before)) / positions;
    result.peak_gflops = std::max(peak_before.gflops, multiply_add_gflops(peak_before.build, result.threads));
    return result;
}

void run(const AttentionOptions& options) {
    const BenchResult result = measure(options);
    if (!options.json) {
        fmt::print("attention: {} heads of {}, T {}{}, weights kept, forward\n{}", kHeads, kHeadSize, options.positions,
                   options.causal ? ", causal" : "", describe(result, "call"));
        return;
    }
    Json line{{"bench", "attention"}, {"T", options.positions}, {"batch", 1},
              {"heads", kHeads},      {"head_size", kHeadSize}, {"causal", options.causal}};
    append_fields(result, line);
    fmt::print("{}\n", line.dump());
}

}  // namespace

void add_bench_attention(CliCommand bench) {
    auto options = std::make_shared<AttentionOptions>();
    CliCommand command = bench.command("attention", "Measure one forward attention that keeps its weights");
    command.option("--T", options->positions, "Positions, 1 to 8192 (memory grows with the square: 3 GiB at 8192)")
        .required()
        .between(1, 8192);
    command.flag("--causal", options->causal, "No position attends to a later one");
    add_bench_options(command, *options);
    command.footer(
        "Measures the forward pass from packed q, k and v to the context, batch 1, 12 heads of 64, float, with all weights [12,T,T]\nkept: "
        "q k^T, scale, mask, softmax, product with v. Projections are not included. As in training, all calls write to\nthe same map, "
        "where the zeros of a causal mask stay from the first call on. Bytes per token: what the process grew by.");
    command.on_run([options] { run(*options); });
}

}  // namespace attn::app
