// The kernels for one instruction set. The including source first defines ATTN_KERNEL_TABLE, the name of the function that returns the
// table. The linker must never merge same-named functions compiled with different flags, so everything except that function is in an
// unnamed namespace, and no header is included whose inline functions might not be inlined (immintrin.h forces inlining).

#include <cstdint>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "engine/kernels/kernels.hpp"
#include "engine/kernels/stored_kernels.hpp"
#include "engine/kernels/tables.hpp"

namespace attn {
namespace {

#include "engine/kernels/vectors.hpp"

#include "engine/kernels/exponential.hpp"
#include "engine/kernels/gemm_tile.hpp"

#include "engine/kernels/gemm_packing.hpp"

#include "engine/kernels/gemm_row.hpp"

#include "engine/kernels/gemm.hpp"
#include "engine/kernels/peak.hpp"
#include "engine/kernels/rows.hpp"
#include "engine/kernels/softmax.hpp"
#include "engine/kernels/stored.hpp"
#include "engine/kernels/stored_packing.hpp"
#include "engine/kernels/stored_row.hpp"

#include "engine/kernels/activations.hpp"
#include "engine/kernels/learning.hpp"
#include "engine/kernels/norms.hpp"

template <class Scalar>
constexpr Kernels<Scalar> kTable = {
    .gemm_scratch = kGemmScratch<Scalar>,
    .gemm = &gemm<Scalar>,
    .packed_size = &packed_size<Scalar>,
    .pack_b = &pack_b<Scalar>,
    .add = &add<Scalar>,
    .multiply = &multiply<Scalar>,
    .scale = &scale<Scalar>,
    .all_finite = &all_finite<Scalar>,
    .rows_finite = &rows_finite<Scalar>,
    .relu = &relu<Scalar>,
    .gelu_erf = &activate<GeluErf, Scalar>,
    .gelu_tanh = &activate<GeluTanh, Scalar>,
    .gelu_erf_with_slope = &activate_with_slope<GeluErf, Scalar>,
    .gelu_tanh_with_slope = &activate_with_slope<GeluTanh, Scalar>,
    .silu = &activate<SiluForm, Scalar>,
    .silu_with_slope = &activate_with_slope<SiluForm, Scalar>,
    .quick_gelu = &activate<QuickGeluForm, Scalar>,
    .quick_gelu_with_slope = &activate_with_slope<QuickGeluForm, Scalar>,
    .gelu_clipped = &activate<GeluClipped, Scalar>,
    .gelu_clipped_with_slope = &activate_with_slope<GeluClipped, Scalar>,
    .softmax_rows = &softmax_rows<Scalar>,
    .softmax_backward_rows = &softmax_backward_rows<Scalar>,
    .cross_entropy_row = &cross_entropy_row<Scalar>,
    .relu_backward = &relu_backward<Scalar>,
    .gelu_erf_backward = &activate_backward<GeluErf, Scalar>,
    .gelu_tanh_backward = &activate_backward<GeluTanh, Scalar>,
    .silu_backward = &activate_backward<SiluForm, Scalar>,
    .quick_gelu_backward = &activate_backward<QuickGeluForm, Scalar>,
    .gelu_clipped_backward = &activate_backward<GeluClipped, Scalar>,
    .layer_norm_rows = &layer_norm_rows<Scalar>,
    .layer_norm_backward_rows = &layer_norm_backward_rows<Scalar>,
    .rms_norm_rows = &rms_norm_rows<Scalar>,
    .rms_norm_backward_rows = &rms_norm_backward_rows<Scalar>,
    .add_rows = &add_rows<Scalar>,
    .adamw = &adamw<Scalar>,
    .multiply_add_loop = &multiply_add_loop<Scalar>,
    .sum_of_squares = &sum_of_squares<Scalar>,
};

}  // namespace

KernelTables ATTN_KERNEL_TABLE() { return {&kTable<float>, &kTable<double>, &kStoredTable}; }

}  // namespace attn
