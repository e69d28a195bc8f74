#pragma once
/// Unicode's normal forms (UAX #15), by the tables of utf8proc.

#include "engine/tokenizer/aligned_text.hpp"

namespace attn {

enum class NormalForm : std::uint8_t { C, D, KC, KD };

/// A composed character has the origin of its first part, each part of a decomposed one that of the whole (see changed()).
AlignedText normal_form(const AlignedText& text, NormalForm form);

}  // namespace attn
