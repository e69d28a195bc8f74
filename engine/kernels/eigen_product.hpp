#pragma once
/// Eigen's matrix product, built once for each instruction set like the kernels, so that both can be measured side by side.

#include "engine/kernels/kernels.hpp"

namespace attn {

/// C = op(A) op(B) by Eigen with so many threads, as `arguments` says; alpha, accumulate, bias, plus, times and packed operands have to be
/// at their defaults. Not for two threads of the program at once: Eigen keeps its number of threads in a static.
using EigenProduct = void (*)(const GemmArguments<float>& arguments, int threads);

EigenProduct eigen_product_baseline();
EigenProduct eigen_product_v3();
EigenProduct eigen_product_v4();

/// The product of one build. Throws ConfigError if the processor cannot run it.
EigenProduct eigen_product(KernelBuild build);

}  // namespace attn
