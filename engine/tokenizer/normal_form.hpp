#pragma once
/// Unicode normalization forms (UAX #15), by utf8proc's tables.

#include "engine/tokenizer/aligned_text.hpp"

namespace attn {

enum class NormalForm : std::uint8_t { C, D, KC, KD };

/// A composed character has the origin of its first part; the parts of a decomposed character have that of the whole (see changed()).
AlignedText normal_form(const AlignedText& text, NormalForm form);

}  // namespace attn
