#include "engine/tokenizer/character_class.hpp"

#include <utf8proc.h>

#include "engine/tokenizer/later_characters.hpp"

namespace attn {
namespace {

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

bool between(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

bool has_mark_category(char32_t c) {
    const utf8proc_category_t kind = category(c);
    return kind >= UTF8PROC_CATEGORY_MN && kind <= UTF8PROC_CATEGORY_ME;
}

}  // namespace

bool is_white_space(char32_t c) {
    return c == ' ' || between(c, 0x09, 0x0D) || c == 0x85 || c == 0xA0 || c == 0x1680 || between(c, 0x2000, 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_number(char32_t c) {
    const utf8proc_category_t kind = category(c);
    return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(char32_t c) {
    constexpr char32_t kCanadianChi = 0x166D, kSandhiMark = 0x111C9;  // were punctuation until Unicode 11 and 12
    if (c == kCanadianChi || c == kSandhiMark) return true;
    const utf8proc_category_t kind = category(c);
    return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO && !lacks_category(c);
}

bool is_ascii_punctuation(char32_t c) {
    return between(c, '!', '/') || between(c, ':', '@') || between(c, '[', '`') || between(c, '{', '~');
}

bool is_mark(char32_t c) {
    if (between(c, 0x1CF2, 0x1CF3)) return true;  // were marks until Unicode 12
    return has_mark_category(c) && !lacks_mark(c);
}

bool is_nonspacing_mark(char32_t c) {
    constexpr char32_t kHanunooPamudpod = 0x1734;  // was nonspacing until Unicode 14
    return c == kHanunooPamudpod || (category(c) == UTF8PROC_CATEGORY_MN && !lacks_category(c));
}

bool is_other(char32_t c) {
    if (lacks_category(c)) return false;
    switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:
        return true;
    default:
        return false;
    }
}

bool is_word_character(char32_t c) {
    const utf8proc_category_t kind = category(c);
    const bool letter = kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
    const bool digit = kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL;
    const bool circled_letter =
        between(c, 0x24B6, 0x24E9) || between(c, 0x1F130, 0x1F149) || between(c, 0x1F150, 0x1F169) || between(c, 0x1F170, 0x1F189);
    return letter || digit || has_mark_category(c) || kind == UTF8PROC_CATEGORY_PC || circled_letter || c == 0x200C || c == 0x200D;
}

bool is_cjk_ideograph(char32_t c) {
    return between(c, 0x4E00, 0x9FFF) || between(c, 0x3400, 0x4DBF) || between(c, 0x20000, 0x2A6DF) || between(c, 0x2A700, 0x2B73F) ||
           between(c, 0x2B740, 0x2B81F) || between(c, 0x2B920, 0x2CEAF) || between(c, 0xF900, 0xFAFF) || between(c, 0x2F800, 0x2FA1F);
}

char32_t lower_case(char32_t c) { return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))); }

}  // namespace attn
