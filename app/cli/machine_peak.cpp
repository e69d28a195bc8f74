#include "app/cli/machine_peak.hpp"

#include <algorithm>
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

/// So many threads as long as it lives.
class ThreadScope {
public:
    explicit ThreadScope(int threads) : before_(thread_budget()) { set_thread_budget(threads); }
    ~ThreadScope() { set_thread_budget(before_); }
    ThreadScope(const ThreadScope&) = delete;
    ThreadScope& operator=(const ThreadScope&) = delete;

private:
    int before_;
};

}  // namespace

double multiply_add_gflops(KernelBuild build, int threads) {
    const ThreadScope scope(threads);
    const Kernels<float>& kernel = kernels_of<float>(build);
    std::vector<double> operations(static_cast<std::size_t>(threads));
    const auto run = [&](std::int64_t rounds) {
        return seconds([&] {
            parallel_for(threads, kParallelCost,
                         [&](std::int64_t thread) { operations[static_cast<std::size_t>(thread)] = kernel.multiply_add_loop(rounds); });
        });
    };
    // Long enough that starting the threads and reading the clock do not matter, short enough to fall between two turns that the
    // scheduler gives to other programs. The first runs also wake the processor.
    constexpr double kLongEnough = 0.002;
    constexpr int kRuns = 50;
    std::int64_t rounds = 20'000;
    double best = run(rounds);
    while (best < kLongEnough) best = run(rounds *= 2);
    for (int i = 0; i < kRuns; ++i) best = std::min(best, run(rounds));
    return std::accumulate(operations.begin(), operations.end(), 0.0) / best * 1e-9;
}

double best_multiply_add_gflops(int threads) {
    double best = 0;
    for (const KernelBuild build : available_kernel_builds()) best = std::max(best, multiply_add_gflops(build, threads));
    return best;
}

double memory_gigabytes_per_second(int threads) {
    const ThreadScope scope(threads);
    constexpr std::int64_t kCount = 16 << 20;  // 64 MiB an array
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
