#pragma once
/// Products with matrices as files store them: in half precision, in packed blocks, with rows or columns one after the other.

#include <cstdint>

#include "engine/kernels/kernels.hpp"
#include "engine/tensor/number_kind.hpp"

namespace attn {

/// op(B) [k,n] as stored: [k,n], or [n,k] when transposed.
struct StoredMatrix {
    const unsigned char* data = nullptr;
    NumberKind kind = NumberKind::F32;
    Transpose transpose = Transpose::No;
    std::int64_t row_bytes = 0;                       ///< from one stored row to the next
    std::int64_t block_numbers = 1, block_bytes = 4;  ///< of the kind; every stored row begins with a block
};

/// Rows of A for which reading op(B) once for each can take less time than packing it.
inline constexpr std::int64_t kFewStoredRows = 3;

struct StoredKernels {
    /// n numbers that are stored end to end, from the beginning of a block on, as floats.
    void (*widen)(NumberKind kind, const void* data, std::int64_t n, float* out);
    /// op(B) as Kernels::pack_b() leaves it.
    void (*pack)(const StoredMatrix& b, std::int64_t k, std::int64_t n, float* packed);
    /// C = A B of at most kFewStoredRows rows, which read B where it is stored; B is left out of the arguments. Returns false, having done
    /// nothing, where packing is no slower.
    bool (*multiply_rows)(const GemmArguments<float>& arguments, const StoredMatrix& b);
};

/// Those of one build; throws as kernels_of() does.
const StoredKernels& stored_kernels_of(KernelBuild build);
/// Those of active_kernel_build().
const StoredKernels& stored_kernels();

}  // namespace attn
