#pragma once
/// How a number is stored.

#include <cstdint>

namespace attn {

/// Plain numbers and block-quantized ones (engine/tensor/blocks.hpp).
enum class NumberKind : std::uint8_t { F32, F64, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K };

}  // namespace attn
