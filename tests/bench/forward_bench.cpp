/// Measures one recorded forward pass, from a changed setting to the finished trace.

#include <benchmark/benchmark.h>

#include <memory>
#include <numeric>

#include "engine/model/transformer.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {
namespace {

TokenBatch full_batch(std::int64_t sequences, std::int64_t length, std::int64_t vocabulary) {
    TokenBatch batch;
    batch.length = length;
    batch.lengths.assign(static_cast<std::size_t>(sequences), length);
    batch.ids.resize(static_cast<std::size_t>(sequences * length));
    for (std::size_t i = 0; i < batch.ids.size(); ++i)
        batch.ids[i] = static_cast<std::int32_t>((i * 7 + 3) % static_cast<std::size_t>(vocabulary));
    return batch;
}

/// Arguments: sequences, length T, d_model, heads, layers.
void forward_trace(benchmark::State& state) {
    Config config;
    config.vocab_size = 64;
    config.context_length = state.range(1);
    config.d_model = state.range(2);
    config.num_heads = state.range(3);
    config.num_layers = state.range(4);
    config.d_ff = 4 * config.d_model;
    const auto parameters = std::make_shared<const Parameters<float>>(initial_parameters<float>(config));
    const TokenBatch tokens = full_batch(state.range(0), state.range(1), config.vocab_size);
    ForwardSettings settings;
    settings.masks.causal = true;

    std::int64_t numbers = 0;
    for (auto _ : state) {
        const Trace<float> trace = trace_forward<float>(parameters, tokens, {}, settings);
        benchmark::DoNotOptimize(trace.stages.data());
        numbers = std::accumulate(trace.stages.begin(), trace.stages.end(), std::int64_t{0},
                                  [](std::int64_t sum, const RecordedStage<float>& stage) { return sum + stage.value.size(); });
    }
    state.counters["tokens/s"] = benchmark::Counter(static_cast<double>(tokens.ids.size()), benchmark::Counter::kIsIterationInvariantRate);
    state.counters["trace_MiB"] = static_cast<double>(numbers) * sizeof(float) / (1 << 20);
}
BENCHMARK(forward_trace)
    ->ArgNames({"B", "T", "C", "H", "L"})
    ->Args({1, 8, 32, 4, 2})
    ->Args({2, 16, 64, 4, 2})
    ->Args({1, 64, 128, 4, 4})     // the largest teaching size: must fit one frame
    ->Args({1, 256, 144, 12, 12})  // the 144-head grid
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace attn
