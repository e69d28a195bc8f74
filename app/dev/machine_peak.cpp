#include "app/dev/machine_peak.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/ops/parallel.hpp"
#include "engine/tensor/tensor.hpp"

namespace attn::app {
namespace {

using Clock = std::chrono::steady_clock;

template <class F>
double seconds(const F& work) {
    const Clock::time_point start = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Threads beyond the processors take turns and reach no more together. They are left out, because each would only add its time.
int threads_at_once(int threads) { return std::min(threads, processor_count()); }

double sum(const std::vector<double>& rates) { return std::accumulate(rates.begin(), rates.end(), 0.0); }

}  // namespace

double multiply_add_gflops(KernelBuild build, int wanted) {
    const int threads = threads_at_once(wanted);
    const ThreadScope scope(threads);
    const Kernels<float>& kernel = kernels_of<float>(build);
    // Many short runs, so that some fall between the time slices of other programs. The first runs wake the processor; in the last ones a
    // slower thread has it to itself.
    constexpr double kShort = 0.0005;
    constexpr int kRuns = 120;
    const auto loop_rate = [&](std::int64_t rounds) {
        double operations = 0;
        const double time = seconds([&] { operations = kernel.multiply_add_loop(rounds); });
        return operations / time;
    };
    const double first_rate = loop_rate(200'000);
    const std::int64_t rounds = std::max<std::int64_t>(1000, static_cast<std::int64_t>(kShort * first_rate / kernel.multiply_add_loop(1)));
    std::vector<double> rates(static_cast<std::size_t>(threads));
    parallel_for(threads, kParallelCost, [&](std::int64_t thread) {
        std::array<double, kRuns> of_runs{};
        for (double& rate : of_runs) rate = loop_rate(rounds);
        std::nth_element(of_runs.begin(), of_runs.begin() + kRuns * 3 / 4, of_runs.end());
        rates[static_cast<std::size_t>(thread)] = of_runs[kRuns * 3 / 4];
    });
    return sum(rates) * 1e-9;
}

BuildPeak best_multiply_add_peak(int threads) {
    BuildPeak best{available_kernel_builds().front(), 0};
    for (const KernelBuild build : available_kernel_builds()) {
        const double gflops = multiply_add_gflops(build, threads);
        if (gflops > best.gflops) best = {build, gflops};
    }
    return best;
}

double MomentaryPeak::gflops() const {
    constexpr int kRuns = 6;  // the best of several, since the first one only wakes the thread
    constexpr std::int64_t kRounds = 2000;
    const int threads = threads_at_once(threads_);
    const ThreadScope scope(threads);
    const Kernels<float>& kernel = kernels_of<float>(build_);
    std::vector<double> rates(static_cast<std::size_t>(threads));
    parallel_for(threads, kParallelCost, [&](std::int64_t thread) {
        double& best = rates[static_cast<std::size_t>(thread)];
        for (int i = 0; i < kRuns; ++i) {
            double operations = 0;
            const double time = seconds([&] { operations = kernel.multiply_add_loop(kRounds); });
            best = std::max(best, operations / time);
        }
    });
    return sum(rates) * 1e-9;
}

double memory_gigabytes_per_second(int threads) {
    const ThreadScope scope(threads_at_once(threads));
    constexpr std::int64_t kCount = 16 << 20;  // 64 MiB per array
    AlignedVector<float> a(kCount, 1.0F), b(kCount, 2.0F), y(kCount);
    const Kernels<float>& kernel = kernels<float>();
    constexpr int kRuns = 12;
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kRuns; ++i)
        best = std::min(best, seconds([&] {
                            parallel_ranges(kCount, 16, 1, [&](std::int64_t first, std::int64_t last) {
                                kernel.add(a.data() + first, b.data() + first, last - first, y.data() + first);
                            });
                        }));
    return 3.0 * sizeof(float) * kCount / best * 1e-9;
}

}  // namespace attn::app
