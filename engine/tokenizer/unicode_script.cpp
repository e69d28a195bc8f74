#include "engine/tokenizer/unicode_script.hpp"

#include <oniguruma.h>

#include <array>
#include <string_view>

#include "engine/tokenizer/later_characters.hpp"

namespace attn {
namespace {

/// Most frequent first.
constexpr std::array kScriptNames = std::to_array<std::string_view>({"Common",
                                                                     "Inherited",
                                                                     "Latin",
                                                                     "Han",
                                                                     "Hiragana",
                                                                     "Katakana",
                                                                     "Cyrillic",
                                                                     "Greek",
                                                                     "Arabic",
                                                                     "Hangul",
                                                                     "Hebrew",
                                                                     "Devanagari",
                                                                     "Thai",
                                                                     "Armenian",
                                                                     "Bengali",
                                                                     "Georgian",
                                                                     "Gujarati",
                                                                     "Gurmukhi",
                                                                     "Kannada",
                                                                     "Khmer",
                                                                     "Lao",
                                                                     "Malayalam",
                                                                     "Mongolian",
                                                                     "Myanmar",
                                                                     "Oriya",
                                                                     "Sinhala",
                                                                     "Tamil",
                                                                     "Telugu",
                                                                     "Tibetan",
                                                                     "Ethiopic",
                                                                     "Bopomofo",
                                                                     "Braille",
                                                                     "Canadian_Aboriginal",
                                                                     "Cherokee",
                                                                     "Ogham",
                                                                     "Runic",
                                                                     "Syriac",
                                                                     "Thaana",
                                                                     "Yi",
                                                                     "Buhid",
                                                                     "Hanunoo",
                                                                     "Tagalog",
                                                                     "Tagbanwa",
                                                                     "Cypriot",
                                                                     "Limbu",
                                                                     "Linear_B",
                                                                     "Osmanya",
                                                                     "Shavian",
                                                                     "Tai_Le",
                                                                     "Ugaritic",
                                                                     "Buginese",
                                                                     "Coptic",
                                                                     "Glagolitic",
                                                                     "Kharoshthi",
                                                                     "New_Tai_Lue",
                                                                     "Old_Italic",
                                                                     "Old_Persian",
                                                                     "Syloti_Nagri",
                                                                     "Tifinagh",
                                                                     "Deseret",
                                                                     "Gothic",
                                                                     "Balinese",
                                                                     "Cuneiform",
                                                                     "Nko",
                                                                     "Phags_Pa",
                                                                     "Phoenician",
                                                                     "Carian",
                                                                     "Cham",
                                                                     "Kayah_Li",
                                                                     "Lepcha",
                                                                     "Lycian",
                                                                     "Lydian",
                                                                     "Ol_Chiki",
                                                                     "Rejang",
                                                                     "Saurashtra",
                                                                     "Sundanese",
                                                                     "Vai",
                                                                     "Avestan",
                                                                     "Bamum",
                                                                     "Egyptian_Hieroglyphs",
                                                                     "Imperial_Aramaic",
                                                                     "Inscriptional_Pahlavi",
                                                                     "Inscriptional_Parthian",
                                                                     "Javanese",
                                                                     "Kaithi",
                                                                     "Lisu",
                                                                     "Meetei_Mayek",
                                                                     "Old_South_Arabian",
                                                                     "Old_Turkic",
                                                                     "Samaritan",
                                                                     "Tai_Tham",
                                                                     "Tai_Viet",
                                                                     "Batak",
                                                                     "Brahmi",
                                                                     "Mandaic",
                                                                     "Chakma",
                                                                     "Meroitic_Cursive",
                                                                     "Meroitic_Hieroglyphs",
                                                                     "Miao",
                                                                     "Sharada",
                                                                     "Sora_Sompeng",
                                                                     "Takri",
                                                                     "Bassa_Vah",
                                                                     "Caucasian_Albanian",
                                                                     "Duployan",
                                                                     "Elbasan",
                                                                     "Grantha",
                                                                     "Khojki",
                                                                     "Khudawadi",
                                                                     "Linear_A",
                                                                     "Mahajani",
                                                                     "Manichaean",
                                                                     "Mende_Kikakui",
                                                                     "Modi",
                                                                     "Mro",
                                                                     "Nabataean",
                                                                     "Old_North_Arabian",
                                                                     "Old_Permic",
                                                                     "Pahawh_Hmong",
                                                                     "Palmyrene",
                                                                     "Pau_Cin_Hau",
                                                                     "Psalter_Pahlavi",
                                                                     "Siddham",
                                                                     "Tirhuta",
                                                                     "Warang_Citi",
                                                                     "Ahom",
                                                                     "Anatolian_Hieroglyphs",
                                                                     "Hatran",
                                                                     "Multani",
                                                                     "Old_Hungarian",
                                                                     "SignWriting",
                                                                     "Adlam",
                                                                     "Bhaiksuki",
                                                                     "Marchen",
                                                                     "Newa",
                                                                     "Osage",
                                                                     "Tangut"});
constexpr int kCommon = 0, kHan = 3, kHiragana = 4, kKatakana = 5, kDevanagari = 11;

struct ScriptClasses {
    std::array<int, kScriptNames.size()> classes{};

    ScriptClasses() {
        OnigEncoding encoding = ONIG_ENCODING_UTF8;
        onig_initialize(&encoding, 1);
        const auto find = [&](std::string_view name) {
            auto* const begin = reinterpret_cast<OnigUChar*>(const_cast<char*>(name.data()));
            return encoding->property_name_to_ctype(encoding, begin, begin + name.size());
        };
        for (std::size_t i = 0; i < kScriptNames.size(); ++i) classes[i] = find(kScriptNames[i]);
    }
};

bool has_class(char32_t character, int type) {
    return type >= 0 && ONIG_ENCODING_UTF8->is_code_ctype(character, static_cast<OnigCtype>(type)) != 0;
}

int script_of(char32_t character) {
    static const ScriptClasses all;
    for (std::size_t i = 0; i < all.classes.size(); ++i)
        if (has_class(character, all.classes[i])) return static_cast<int>(i);
    return kAnyScript;
}

}  // namespace

int script_for_words(char32_t character) {
    constexpr char32_t kProlongedSound = 0x30FC;  // belongs to Katakana, although Unicode assigns it to Common
    if (character == ' ') return kAnyScript;
    if (character == kProlongedSound) return kHan;
    if (lacks_script(character)) return kAnyScript;
    // These have changed their scripts since.
    if (character == 0x589 || character == 0x61C) return kCommon;
    if (character == 0x953 || character == 0x954) return kDevanagari;
    const int script = script_of(character);
    return script == kHiragana || script == kKatakana ? kHan : script;
}

}  // namespace attn
