#pragma once
/// Eigen's matrix product, built for the same instruction sets as the kernels so that the two can be benchmarked side by side.

#include "engine/kernels/kernels.hpp"

namespace attn {

/// C = op(A) op(B) computed by Eigen with `threads` threads. alpha, accumulate, bias, plus, times and the packed operands must have their
/// default values. Not thread-safe: Eigen keeps its number of threads in a static.
using EigenProduct = void (*)(const GemmArguments<float>& arguments, int threads);

EigenProduct eigen_product_baseline();
EigenProduct eigen_product_v3();
EigenProduct eigen_product_v4();

/// The product of one build. Throws ConfigError if the processor cannot run it.
EigenProduct eigen_product(KernelBuild build);

}  // namespace attn
