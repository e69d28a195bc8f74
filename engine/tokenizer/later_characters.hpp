#pragma once
/// Characters that the Unicode tables of Hugging Face's tokenizers do not have yet. It looks up categories, marks and scripts in tables of
/// different ages (Unicode 8 to 10), and a model's ids follow from them, so later characters have none of these here either.

namespace attn {

bool lacks_category(char32_t c);  ///< not known as punctuation, nonspacing mark or format character
bool lacks_mark(char32_t c);      ///< not known as a mark of any kind
bool lacks_script(char32_t c);    ///< without a script

}  // namespace attn
