#include "app/platform/fonts.hpp"

#include <imgui.h>

#include <cmath>
#include <string>
#include <string_view>

#include "app/platform/imgui_compat.hpp"
#include "app/platform/platform_error.hpp"
#include "assets/embedded.hpp"
#include "engine/io/input_file.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

namespace {

/// Text typed by users or read from files.
constexpr ImWchar kTextGlyphs[] = {0x0020, 0x017F,  // Latin, Latin-1, Latin Extended-A
                                   0x01A0, 0x01A1,  // Vietnamese (continued at 0x1EA0)
                                   0x01AF, 0x01B0,  // Vietnamese
                                   0x01CD, 0x01DC,  // pinyin
                                   0x0218, 0x021B,  // Romanian
                                   0x0370, 0x03FF,  // Greek
                                   0x0400, 0x045F,  // Cyrillic
                                   0x0490, 0x0491,  // Ukrainian
                                   0x1EA0, 0x1EF9,  // Vietnamese
                                   0x2010, 0x2027,  // dashes, quotation marks, dots
                                   0x2030, 0x205F,  // primes, brackets, fractions
                                   0x2070, 0x209F,  // superscripts and subscripts
                                   0x20A0, 0x20BF,  // currencies
                                   0x2190, 0x21FF,  // arrows
                                   0x2200, 0x22FF,  // mathematical operators
                                   0x23CE, 0x23CE,  // return symbol
                                   0x2400, 0x2426,  // symbols for spaces and control characters
                                   0x2581, 0x2581,  // SentencePiece's space
                                   0x25A0, 0x25CF,  // geometric shapes
                                   0xFFFD, 0xFFFD,  // replacement character
                                   0};

/// Modifier letters and blackboard letters in formulas, and the sign for a space.
constexpr ImWchar kFormulaGlyphs[] = {0x02B0, 0x02FF, 0x0302, 0x0302, 0x1D40, 0x1D6A, 0x2102, 0x2124,
                                      0x2423, 0x2423, 0x27E8, 0x27E9, 0x2C7C, 0x2C7C, 0};

/// Headings are fixed texts: symbols of formulas, but no Greek or Cyrillic prose.
constexpr ImWchar kHeadingGlyphs[] = {0x0020, 0x00FF, 0x0391, 0x03C9, 0x2010, 0x2027, 0x2032, 0x2033,
                                      0x2070, 0x209F, 0x2190, 0x2193, 0x2200, 0x22A5, 0};

const EmbeddedFile& font_file(const char* name) {
    const EmbeddedFile* file = find_embedded(embedded_fonts(), name);
    if (file == nullptr) throw PlatformError(std::string("the font ") + name + " is missing from the program");
    return *file;
}

/// Ascent plus descent in ems, as defined by the fonts.
float line_height(std::string_view name) {
    if (name == "mono.ttf") return 1.32F;
    return name == "math.ttf" ? 1.164F : 1.21F;
}

/// The bytes are embedded and read-only. Declaring them owned by the atlas keeps ImGui from copying them for every size; they are disowned
/// immediately so that it does not free them either.
ImFont* add_bytes(ImFontAtlas& atlas, std::string_view bytes, float line, ImFontConfig config, const ImWchar* glyphs) {
    // Positions are whole pixels, so horizontal oversampling would only blur.
    config.OversampleH = config.OversampleV = 1;
    config.PixelSnapH = true;
    config.FontDataOwnedByAtlas = true;
    ImFont* font = atlas.AddFontFromMemoryTTF(const_cast<char*>(bytes.data()), static_cast<int>(bytes.size()), line, &config, glyphs);
    imgui_compat::disown_last_font(atlas);
    return font;
}

ImFont* add(ImFontAtlas& atlas, const char* name, float size, const ImWchar* glyphs, ImFont* into) {
    const EmbeddedFile& file = font_file(name);
    ImFontConfig config;
    config.MergeMode = into != nullptr;
    ImFont* font = add_bytes(atlas, file.bytes, size, config, glyphs);
    if (font == nullptr) throw PlatformError(std::string("the font ") + name + " is damaged");
    return font;
}

/// Merges the letters of a system font into a font; skips files that the rasteriser cannot read.
void add_system_font(ImFontAtlas& atlas, const ReadFont& more, float size, ImFont* into) {
    ImFontConfig config;
    config.MergeMode = true;
    config.FontNo = more.face;
    config.DstFont = into;
    static_assert(sizeof(ImWchar) == sizeof(unsigned short));
    add_bytes(atlas, more.bytes, size, config, more.ranges.data());
}

/// Whether the rasteriser supports the format: TrueType or OpenType, also in collections.
bool is_readable_font(std::string_view bytes) {
    for (const std::string_view magic :
         {std::string_view("\0\1\0\0", 4), std::string_view("OTTO"), std::string_view("true"), std::string_view("ttcf")})
        if (bytes.starts_with(magic)) return true;
    return false;
}

}  // namespace

LetterSet letters_lacking(const LetterSet& letters) {
    LetterSet lacking;
    for (const char32_t letter : letters) {
        bool ours = false;
        for (const ImWchar* range = kTextGlyphs; *range != 0 && !ours; range += 2) ours = letter >= range[0] && letter <= range[1];
        if (!ours && letter <= IM_UNICODE_CODEPOINT_MAX && letter >= 0x20) lacking += letter;
    }
    return lacking;
}

std::vector<ReadFont> read_system_fonts(const LetterSet& letters) {
    constexpr std::uint64_t kLargestFont = 64U << 20;
    std::vector<ReadFont> fonts;
    for (const SystemFont& found : fonts_with(letters)) {
        ReadFont font;
        try {
            font.bytes = read_whole_file(found.file, {.max_bytes = kLargestFont, .stop = {}});
        } catch (const Error&) {
            continue;  // letters without a font are shown by their code points
        }
        if (!is_readable_font(font.bytes)) continue;
        font.face = found.face;
        for (const char32_t letter : found.letters) font.ranges.insert(font.ranges.end(), 2, static_cast<unsigned short>(letter));
        font.ranges.push_back(0);
        fonts.push_back(std::move(font));
    }
    return fonts;
}

Fonts add_fonts(ImFontAtlas& atlas, float scale, const std::vector<ReadFont>& more) {
    atlas.Flags |= ImFontAtlasFlags_NoPowerOfTwoHeight;
    static constexpr ImWchar kControlPictures[] = {0x2400, 0x2426, 0};
    const auto make = [&](const char* name, float size, const ImWchar* glyphs) {
        // Sizes are in ems, as in print, but ImGui expects line heights. Whole line heights keep text on whole pixels.
        const float line = std::round(size * scale * line_height(name));
        const float math = line / line_height(name) * line_height("math.ttf");
        ImFont* font = add(atlas, name, line, glyphs, nullptr);
        add(atlas, "math.ttf", math, glyphs, font);
        add(atlas, "math.ttf", math, kFormulaGlyphs, font);
        add(atlas, "mono.ttf", line / line_height(name) * line_height("mono.ttf"), kControlPictures, font);
        if (glyphs == kTextGlyphs)
            for (const ReadFont& system : more) add_system_font(atlas, system, line, font);
        return font;
    };
    Fonts fonts;
    const ImWchar *text = kTextGlyphs, *heading = kHeadingGlyphs;
    fonts.body = make("inter.otf", 14, text);  // first, because it becomes ImGui's default font
    fonts.small = make("inter-semibold.otf", 11, heading);
    fonts.caption = make("inter.otf", 11, text);
    fonts.label = make("inter.otf", 13, text);
    fonts.strong = make("inter-semibold.otf", 14, text);
    fonts.title = make("inter-semibold.otf", 18, heading);
    fonts.heading = make("inter-semibold.otf", 22, heading);
    fonts.lecture = make("inter.otf", 20, text);
    fonts.mono_tiny = make("mono.ttf", 10, text);
    fonts.mono_small = make("mono.ttf", 11.5F, text);
    fonts.mono = make("mono.ttf", 13, text);
    fonts.mono_body = make("mono.ttf", 14, text);
    fonts.formula = make("mono.ttf", 20, heading);
    return fonts;
}

}  // namespace attn::app
