#pragma once
/// Character classes of code points, by utf8proc's version of Unicode. Punctuation, marks and others are those that Hugging Face's
/// tokenizers knows, whose tables are older.

namespace attn {

bool is_white_space(char32_t c);        ///< Unicode White_Space
bool is_number(char32_t c);             ///< categories Nd, Nl, No
bool is_punctuation(char32_t c);        ///< categories P*
bool is_ascii_punctuation(char32_t c);  ///< the 32 visible ASCII characters that are not letters or digits
bool is_mark(char32_t c);               ///< categories Mn, Mc, Me
bool is_nonspacing_mark(char32_t c);    ///< category Mn
bool is_other(char32_t c);              ///< categories Cc, Cf, Co
bool is_word_character(char32_t c);     ///< \w of UTS #18: letters, marks, decimal digits, connectors, joiners
bool is_cjk_ideograph(char32_t c);      ///< the eight ranges that BERT surrounds with spaces
char32_t lower_case(char32_t c);        ///< the simple case mapping

}  // namespace attn
