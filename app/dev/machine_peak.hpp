#pragma once
/// Peak rates of this machine, measured with the simplest possible loops.

#include "engine/kernels/kernels.hpp"

namespace attn::app {

/// GFLOP/s of multiply-adds in registers with this kernel build, on this many threads at once: the sum over the threads of what each
/// reaches in the best quarter of many short runs, since other programs can only lower the rate.
double multiply_add_gflops(KernelBuild build, int threads);

struct BuildPeak {
    KernelBuild build;
    double gflops;
};
/// The kernel build with the highest rate, of all that the processor supports.
BuildPeak best_multiply_add_peak(int threads);

/// Measures the same within a fraction of a millisecond, as the current peak: the speed of a shared machine can change from one second to
/// the next.
class MomentaryPeak {
public:
    MomentaryPeak(KernelBuild build, int threads) : threads_(threads), build_(build) {}
    double gflops() const;

private:
    int threads_;
    KernelBuild build_;
};

/// Memory bandwidth in GB/s (1e9 bytes) of y = a + b, with arrays far larger than the caches; 12 bytes per element.
double memory_gigabytes_per_second(int threads);

}  // namespace attn::app
