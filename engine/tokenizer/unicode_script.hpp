#pragma once
/// The Unicode script of a character, as the tokenizers library knows it.

namespace attn {

inline constexpr int kAnyScript = -1;

/// A number for each script; kAnyScript for a space, and for a character without a script. Hiragana and Katakana count as Han, so that
/// Japanese words are not split (a rule of SentencePiece and the tokenizers library).
int script_for_words(char32_t character);

}  // namespace attn
