#pragma once
/// The highest rates that the simplest loops reach on this machine.

#include "engine/kernels/kernels.hpp"

namespace attn::app {

/// Billions of floating-point operations a second of multiply-adds in registers, by this build of the kernels on so many threads at
/// once: the sum of what each thread reaches in the best quarter of many short runs, since what else runs on the machine only ever
/// takes away.
double multiply_add_gflops(KernelBuild build, int threads);
/// The highest of all builds that the processor has.
double best_multiply_add_gflops(int threads);

/// The same within a fraction of a millisecond: what the processor can do at this moment. A machine that others share changes its speed
/// from one second to the next.
class MomentaryPeak {
public:
    /// Finds the build that is the fastest with so many threads.
    explicit MomentaryPeak(int threads);
    double gflops() const;

private:
    int threads_;
    KernelBuild build_;
};

/// Gigabytes (1e9) a second of y = a + b on so many threads over arrays far larger than the caches, 12 bytes an element.
double memory_gigabytes_per_second(int threads);

}  // namespace attn::app
