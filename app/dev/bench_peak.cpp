/// attnscope-dev bench peak: the peak performance of the processor and its memory.

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "app/dev/bench.hpp"
#include "app/dev/machine_peak.hpp"
#include "engine/ops/parallel.hpp"

namespace attn::app {
namespace {

void measure(bool json) {
    const int threads = thread_budget();
    Json line{{"bench", "peak"}}, builds = Json::list();
    double best_one = 0, best_all = 0;
    for (const KernelBuild build : available_kernel_builds()) {
        const double one = multiply_add_gflops(build, 1), all = multiply_add_gflops(build, threads);
        builds.push_back({{"kernels", kernel_build_name(build)}, {"gflops_1", one}, {"gflops_all", all}});
        best_one = std::max(best_one, one);
        best_all = std::max(best_all, all);
        if (!json) fmt::print("{:<9} {:8.1f} GFLOP/s on 1 thread {:8.1f} on {}\n", kernel_build_name(build), one, all, threads);
    }
    const double memory_one = memory_gigabytes_per_second(1), memory_all = memory_gigabytes_per_second(threads);
    if (!json) {
        fmt::print("{:<9} {:8.1f} GB/s    on 1 thread {:8.1f} on {}\n", "memory", memory_one, memory_all, threads);
        fmt::print("kernels {}, load average {:.1f}\n", kernel_build_name(active_kernel_build()), load_average());
        return;
    }
    line["builds"] = builds;
    line["gflops_1"] = best_one;
    line["gflops_all"] = best_all;
    line["memory_gb_per_s_1"] = memory_one;
    line["memory_gb_per_s_all"] = memory_all;
    line["kernels"] = kernel_build_name(active_kernel_build());
    line["threads"] = threads;
    line["load_average"] = load_average();
    fmt::print("{}\n", line.dump());
}

}  // namespace

void add_bench_peak(CliCommand bench) {
    auto json = std::make_shared<bool>(false);
    CliCommand command = bench.command("peak", "Measure the peak of the processor and its memory");
    command.flag("--json", *json, "Print one line of JSON");
    command.footer("Arithmetic: independent multiply-adds of float in the widest registers of each kernel build that the processor can "
                   "run, 2\noperations each. Memory: y = a + b over arrays of 64 MiB, 12 bytes per element. On 1 thread and on all at "
                   "once, the best of\nseveral runs.");
    command.on_run([json] { measure(*json); });
}

}  // namespace attn::app
