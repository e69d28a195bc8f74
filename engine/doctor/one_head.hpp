#pragma once
/// A single head of a sequence, judged by itself where that is enough.

#include "engine/doctor/recipe.hpp"
#include "engine/doctor/sequence.hpp"

namespace attn::doctor {

/// Whether every recorded part has an axis of heads, of which there are several.
bool is_separable(const Sequence& sequence);
/// One head of such a sequence.
Sequence head_of(const Sequence& sequence, std::int64_t head);
/// The recipe for that head; its masks are those of the whole sequence.
Recipe head_of(const Recipe& recipe, const Sequence& sequence, std::int64_t head);

}  // namespace attn::doctor
