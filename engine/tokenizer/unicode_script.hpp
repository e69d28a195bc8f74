#pragma once
/// The script that a character is written in, by the Unicode version of Oniguruma.

namespace attn {

inline constexpr int kAnyScript = -1;

/// A number for each script, kAnyScript for a space and for a character that is in none. Hiragana and Katakana count as Han, so that
/// Japanese is not cut within its words (SentencePiece's and the tokenizers library's rule; that library knows the scripts of Unicode 9).
int script_for_words(char32_t character);

}  // namespace attn
