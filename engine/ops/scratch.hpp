#pragma once
/// Scratch memory of the calling thread, grown on demand and kept for the thread's life.

#include <cstdint>

#include "engine/tensor/tensor.hpp"

namespace attn {

/// Purpose of the memory: two uses whose lifetimes overlap on a thread need different values.
enum class ScratchUse : std::uint8_t { Gemm, Converted, Widened, ColumnSums, NormSums, Attention, Keys, KeysAcross, Values, Capped };

/// At least n numbers, 64-byte aligned, contents unspecified; valid until the same thread asks for the same use again.
template <class Scalar, ScratchUse Use>
Scalar* scratch(std::int64_t n) {
    thread_local AlignedVector<Scalar> memory;
    if (static_cast<std::int64_t>(memory.size()) < n) memory.resize(static_cast<std::size_t>(n));
    return memory.data();
}

}  // namespace attn
