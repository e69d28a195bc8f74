#pragma once
/// Products with matrices as files store them: half precision or block-quantized, with rows or columns contiguous.

#include <cstdint>

#include "engine/kernels/kernels.hpp"
#include "engine/tensor/number_kind.hpp"

namespace attn {

/// op(B) [k,n] as stored: [k,n], or [n,k] when transposed.
struct StoredMatrix {
    const unsigned char* data = nullptr;
    NumberKind kind = NumberKind::F32;
    Transpose transpose = Transpose::No;
    std::int64_t row_bytes = 0;                       ///< distance between stored rows
    std::int64_t block_numbers = 1, block_bytes = 4;  ///< of the kind; every stored row begins with a block
};

/// Up to this many rows of A, reading op(B) once per row can be faster than packing it.
inline constexpr std::int64_t kFewStoredRows = 3;

struct StoredKernels {
    /// Converts n contiguous numbers, starting at a block boundary, to float.
    void (*widen)(NumberKind kind, const void* data, std::int64_t n, float* out);
    /// Packs op(B) [k,n] as Kernels::pack_b() does.
    void (*pack)(const StoredMatrix& b, std::int64_t k, std::int64_t n, float* packed);
    /// The same for the op(B) of C = A B, and computes the first rows of C meanwhile where that is faster. Returns their number;
    /// `arguments` leaves B out.
    std::int64_t (*pack_and_multiply)(const GemmArguments<float>& arguments, const StoredMatrix& b, float* packed);
    /// C = A B for up to kFewStoredRows rows of A, reading B as it is stored; `arguments` leaves B out. Returns false without doing
    /// anything where packing is at least as fast.
    bool (*multiply_rows)(const GemmArguments<float>& arguments, const StoredMatrix& b);
    /// The sum of `count` words, read as fast as the memory allows: what a product with stored numbers is measured against.
    std::uint64_t (*sum_of_words)(const std::uint64_t* words, std::int64_t count);
};

/// The table of one build. Throws ConfigError if the processor cannot run it.
const StoredKernels& stored_kernels_of(KernelBuild build);
/// The table of active_kernel_build().
const StoredKernels& stored_kernels();

}  // namespace attn
