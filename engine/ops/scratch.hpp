#pragma once
/// Work space of the calling thread, grown once and kept for its life.

#include <cstdint>

#include "engine/tensor/tensor.hpp"

namespace attn {

/// Who asks: two users whose lives overlap on one thread need different ones.
enum class ScratchUse : std::uint8_t { Gemm, Converted, Widened, ColumnSums, NormSums, Attention, Keys, KeysAcross, Values, Capped };

/// At least n numbers, 64-byte aligned, contents unspecified; valid until the same thread asks again for the same use.
template <class Scalar, ScratchUse Use>
Scalar* scratch(std::int64_t n) {
    thread_local AlignedVector<Scalar> memory;
    if (static_cast<std::int64_t>(memory.size()) < n) memory.resize(static_cast<std::size_t>(n));
    return memory.data();
}

}  // namespace attn
