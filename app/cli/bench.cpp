/// attnscope bench: how fast training and attention are here, and how much of the machine's peak that is.

#include "app/cli/bench.hpp"

#include <fmt/core.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/cli/commands.hpp"
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

}  // namespace

void add_bench_options(CLI::App& command, BenchOptions& options) {
    command.add_option("--threads", options.threads, "Threads to use (default: all processors)")->check(CLI::Range(1, 256));
    command.add_option("--steps", options.steps, "Measured repetitions, after some to warm up")->check(CLI::Range(1, 1'000'000));
    command.add_flag("--json", options.json, "Print one line of JSON");
}

int use_threads(const BenchOptions& options) {
    if (options.threads > 0) set_thread_budget(options.threads);
    return thread_budget();
}

Timing timing_of(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    const std::size_t middle = times.size() / 2;
    const double median = times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
    return {static_cast<std::int64_t>(times.size()), median, times.front()};
}

double load_average() {
    double load = -1;
    return ::getloadavg(&load, 1) == 1 ? load : -1;
}

void append_fields(const BenchResult& result, nlohmann::ordered_json& line) {
    const double gflops = rate(result.operations.full, result.timing);
    line["steps"] = result.timing.count;
    line["ms_median"] = result.timing.median_ms;
    line["ms_min"] = result.timing.min_ms;
    line["tokens_per_s"] = result.tokens / result.timing.median_ms * 1e3;
    line["flop"] = result.operations.full;
    line["gflops"] = gflops;
    line["share_of_peak"] = gflops / result.peak_gflops;
    if (result.operations.half > 0) {
        const double gflops_half = rate(result.operations.half, result.timing);
        line["flop_half"] = result.operations.half;
        line["gflops_half"] = gflops_half;
        line["share_of_peak_half"] = gflops_half / result.peak_gflops;
    }
    line["peak_gflops"] = result.peak_gflops;
    line["peak_memory_bytes"] = result.peak_bytes;
    line["bytes_per_token"] = result.bytes_per_token;
    line["kernels"] = kernel_build_name(active_kernel_build());
    line["threads"] = result.threads;
    line["load_average"] = load_average();
}

std::string describe(const BenchResult& result, const std::string& step) {
    std::string text = fmt::format("  {:.3f} ms a {} (median of {}, least {:.3f}), {:.0f} tokens/s\n", result.timing.median_ms, step,
                                   result.timing.count, result.timing.min_ms, result.tokens / result.timing.median_ms * 1e3);
    text += fmt::format("  {}\n", describe_rate(result));
    text += fmt::format("  peak memory {:.1f} MiB, {:.0f} bytes a token\n", static_cast<double>(result.peak_bytes) / (1 << 20),
                        result.bytes_per_token);
    text += fmt::format("  kernels {}, {} thread{}, peak {:.1f} GFLOP/s, load average {:.1f}\n", kernel_build_name(active_kernel_build()),
                        result.threads, result.threads == 1 ? "" : "s", result.peak_gflops, load_average());
    return text;
}

void add_bench_command(CLI::App& program, int&) {
    CLI::App* command = program.add_subcommand("bench", "Measure training, attention and the processor");
    command->require_subcommand(1);
    command->footer(
        "Operations are those of the matrix products: 2 m n k forward, three times that for forward and backward together. Attention\n"
        "maps count as whole squares; for a causal mask a second figure leaves out the masked half. The peak is that of multiply-adds\n"
        "in registers by the best kernels, with the same threads, measured before and after the steps. ATTNSCOPE_KERNELS=baseline,\n"
        "v3 or v4 chooses the kernels.");
    add_bench_train(*command);
    add_bench_attention(*command);
    add_bench_peak(*command);
}

}  // namespace attn::app
