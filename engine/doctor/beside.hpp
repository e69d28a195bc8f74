#pragma once
/// The numbers around a cell as they were recorded, beside those that follow from the stages before it.

#include "engine/doctor/judge.hpp"

namespace attn::doctor {

/// Of the first cell in which the comparison of this part differs. Without maps where the expected ones cannot be computed.
Beside beside(const Sequence& sequence, Part part, const Judgement& judgement, const Comparison& comparison);

}  // namespace attn::doctor
