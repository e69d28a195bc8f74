#pragma once
/// What kind of character a code point is, by the Unicode version of utf8proc.

namespace attn {

bool is_white_space(char32_t c);        ///< Unicode White_Space
bool is_number(char32_t c);             ///< categories Nd, Nl, No
bool is_punctuation(char32_t c);        ///< categories P*
bool is_ascii_punctuation(char32_t c);  ///< the 32 visible ASCII characters that are neither letters nor digits
bool is_mark(char32_t c);               ///< categories Mn, Mc, Me
bool is_nonspacing_mark(char32_t c);    ///< category Mn
bool is_other(char32_t c);              ///< categories Cc, Cf, Co
bool is_word_character(char32_t c);     ///< what \w stands for in UTS #18: letters, marks, decimal digits, connectors, joiners
bool is_cjk_ideograph(char32_t c);      ///< the eight ranges that BERT puts blanks around
char32_t lower_case(char32_t c);        ///< the simple mapping

}  // namespace attn
