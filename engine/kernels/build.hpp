// The kernels, once per instruction set. A source file that includes this first defines ATTN_KERNEL_TABLE, the name of its
// function that returns the table. Compiled with different flags, functions of equal name must never meet in the linker: all but
// that one function is therefore inside an unnamed namespace, and no header with inline functions is included.

#include <cstdint>

#include "engine/kernels/kernels.hpp"
#include "engine/kernels/tables.hpp"

namespace attn {
namespace {

#include "engine/kernels/vectors.hpp"

#include "engine/kernels/exponential.hpp"
#include "engine/kernels/gemm.hpp"
#include "engine/kernels/rows.hpp"

template <class Scalar>
constexpr Kernels<Scalar> kTable = {
    kGemmScratch<Scalar>, &gemm<Scalar>,     &add<Scalar>,       &scale<Scalar>,       &all_finite<Scalar>,
    &relu<Scalar>,        &gelu_erf<Scalar>, &gelu_tanh<Scalar>, &softmax_row<Scalar>, &layer_norm_row<Scalar>,
};

}  // namespace

KernelTables ATTN_KERNEL_TABLE() { return {&kTable<float>, &kTable<double>}; }

}  // namespace attn
