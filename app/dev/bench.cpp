/// attnscope-dev bench: measures training and attention, also as a share of the machine's peak performance.

#include "app/dev/bench.hpp"

#include <fmt/core.h>
#include <stdlib.h>

#include <algorithm>

#include "app/dev/commands.hpp"
#include "engine/kernels/kernels.hpp"
#include "engine/ops/parallel.hpp"

namespace attn::app {
namespace {

double rate(double operations, const Timing& timing) { return operations / timing.median_ms * 1e-6; }

std::string describe_rate(const BenchResult& result) {
    const auto part = [&](double operations) {
        const double gflops = rate(operations, result.timing);
        return fmt::format("{:.1f} GFLOP/s, {:.1f} % of peak", gflops, 100 * gflops / result.peak_gflops);
    };
    std::string text = part(result.operations.full);
    if (result.operations.half > 0) text += " (without the masked half: " + part(result.operations.half) + ")";
    return text;
}

/// Converts a share of all operations to a share of those left by a causal mask.
double half_of(double share, const BenchResult& result) { return share * result.operations.half / result.operations.full; }

std::string describe_momentary(const BenchResult& result, const std::string& step) {
    const double share = result.share_of_momentary_peak;
    std::string text = fmt::format("{:.1f} % of the peak measured around each {}", 100 * share, step);
    if (result.operations.half > 0) text += fmt::format(" (without the masked half: {:.1f} %)", 100 * half_of(share, result));
    return text;
}

}  // namespace

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void add_bench_options(CliCommand command, BenchOptions& options) {
    command.option("--threads", options.threads, "Threads to use (default: all processors)").between(1, kMostThreads);
    command.option("--steps", options.steps, "Repetitions to measure, after a warm-up").between(1, 1'000'000);
    command.flag("--json", options.json, "Print one line of JSON");
}

int use_threads(const BenchOptions& options) {
    if (options.threads > 0) set_thread_budget(options.threads);
    return thread_budget();
}

Timing StepTimes::timing() const {
    std::vector<double> times;
    for (const Step& step : all_) times.push_back(step.ms);
    return {static_cast<std::int64_t>(times.size()), median(times), *std::min_element(times.begin(), times.end())};
}

double StepTimes::share_of_peak(double operations) const {
    std::vector<double> shares;
    for (const Step& step : all_) shares.push_back(operations / step.ms * 1e-6 / step.peak_gflops);
    return median(std::move(shares));
}

double load_average() {
    double load = -1;
    return ::getloadavg(&load, 1) == 1 ? load : -1;
}

void append_fields(const BenchResult& result, Json& line) {
    const double gflops = rate(result.operations.full, result.timing);
    line["steps"] = result.timing.count;
    line["ms_median"] = result.timing.median_ms;
    line["ms_min"] = result.timing.min_ms;
    line["tokens_per_s"] = result.tokens / result.timing.median_ms * 1e3;
    line["flop"] = result.operations.full;
    line["gflops"] = gflops;
    line["share_of_peak"] = gflops / result.peak_gflops;
    line["share_of_momentary_peak"] = result.share_of_momentary_peak;
    if (result.operations.half > 0) {
        const double gflops_half = rate(result.operations.half, result.timing);
        line["flop_half"] = result.operations.half;
        line["gflops_half"] = gflops_half;
        line["share_of_peak_half"] = gflops_half / result.peak_gflops;
        line["share_of_momentary_peak_half"] = half_of(result.share_of_momentary_peak, result);
    }
    line["peak_gflops"] = result.peak_gflops;
    line["peak_memory_bytes"] = result.peak_bytes;
    line["bytes_per_token"] = result.bytes_per_token;
    line["kernels"] = kernel_build_name(active_kernel_build());
    line["threads"] = result.threads;
    line["load_average"] = load_average();
}

std::string describe(const BenchResult& result, const std::string& step) {
    std::string text = fmt::format("  {:.3f} ms per {} (median of {}, min {:.3f}), {:.0f} tokens/s\n", result.timing.median_ms, step,
                                   result.timing.count, result.timing.min_ms, result.tokens / result.timing.median_ms * 1e3);
    text += fmt::format("  {}\n", describe_rate(result));
    text += fmt::format("  {}\n", describe_momentary(result, step));
    text += fmt::format("  peak memory {:.1f} MiB, {:.0f} bytes per token\n", static_cast<double>(result.peak_bytes) / (1 << 20),
                        result.bytes_per_token);
    text += fmt::format("  kernels {}, {} thread{}, peak {:.1f} GFLOP/s, load average {:.1f}\n", kernel_build_name(active_kernel_build()),
                        result.threads, result.threads == 1 ? "" : "s", result.peak_gflops, load_average());
    return text;
}

void add_bench_command(CliCommand program) {
    CliCommand command = program.command("bench", "Measure training, attention, matrix products, models and the processor");
    command.require_command();
    command.footer(
        "Operations are those of the matrix products: 2 m n k forward, three times that for forward and backward together. Attention\nmaps "
        "count as whole squares; for a causal mask a second figure leaves out the masked half. The peak is that of multiply-adds\nin "
        "registers by the best kernels, with the same threads, measured before and after the steps. Shared machines change\nspeed during a "
        "run: the second percentage compares each step with what the same loop reached in the fraction of a millisecond\nbefore and after "
        "it, and is the median over the steps. ATTNSCOPE_KERNELS=baseline, v3 or v4 chooses the kernels.");
    add_bench_train(command);
    add_bench_attention(command);
    add_bench_gemm(command);
    add_bench_model(command);
    add_bench_peak(command);
}

}  // namespace attn::app
