#include "app/widgets/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/letters.hpp"
#include "app/widgets/wrapped_lines.hpp"

namespace attn::app {
namespace {

ImVec2 measure(const ImFont* font, std::string_view text) {
    return const_cast<ImFont*>(font)->CalcTextSizeA(font_size(font), 1e9f, 0, text.data(), text.data() + text.size());
}

/// The code point of a single well-formed character.
char32_t code_point(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (text.size() == 1) return byte(0);
    char32_t code = byte(0) & (0xFFU >> (text.size() + 1));
    for (std::size_t i = 1; i < text.size(); ++i) code = code << 6 | (byte(i) & 0x3FU);
    return code;
}

/// Such as "U+6211", or "+6211" directly after another code point.
std::string code_point_text(char32_t code, bool after_another) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%s+%04X", after_another ? "" : "U", static_cast<unsigned>(code));
    return text.data();
}

/// Linear light of each value of a colour channel: numbers in cells ask for it many times a frame.
std::array<float, 256> light_of_channels() {
    std::array<float, 256> light{};
    for (std::size_t i = 0; i < light.size(); ++i) {
        const float c = static_cast<float>(i) / 255.0f;
        light[i] = c <= 0.04045f ? c / 12.92f : std::pow((c + 0.055f) / 1.055f, 2.4f);
    }
    return light;
}

float luminance(Color color) {
    static const std::array<float, 256> kLight = light_of_channels();
    const auto channel = [&](int shift) { return kLight[color >> shift & 0xFF]; };
    return 0.2126f * channel(0) + 0.7152f * channel(8) + 0.0722f * channel(16);
}

}  // namespace

std::size_t character_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xC2 && lead < 0xE0 ? 2
                               : lead >= 0xE0 && lead < 0xF0 ? 3
                               : lead >= 0xF0 && lead < 0xF5 ? 4
                                                             : 0;
    if (length == 0 || length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0) != 0x80) return 0;
    }
    // Reject overlong forms, surrogates and code points beyond Unicode.
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;
    if (lead == 0xED && byte(1) >= 0xA0) return 0;
    if (lead == 0xF0 && byte(1) < 0x90) return 0;
    if (lead == 0xF4 && byte(1) >= 0x90) return 0;
    return length;
}

float text_width(const ImFont* font, std::string_view text) { return text.empty() ? 0.0f : measure(font, text).x; }

void draw_text(ImDrawList& list, ImFont* font, ImVec2 at, Color color, std::string_view text) {
    if (text.empty()) return;
    // Whole pixels, because glyphs are rasterised for whole pixels only.
    list.AddText(font, font_size(font), ImVec2(std::floor(at.x + 0.5f), std::floor(at.y + 0.5f)), color, text.data(),
                 text.data() + text.size());
}

void draw_text_in(ImDrawList& list, ImFont* font, ImVec2 min, ImVec2 max, ImVec2 align, Color color, std::string_view text) {
    const float free_x = max.x - min.x - text_width(font, text);
    const float free_y = max.y - min.y - font_size(font);
    draw_text(list, font, ImVec2(min.x + free_x * align.x, min.y + free_y * align.y), color, text);
}

void draw_text_on(ImDrawList& list, ImFont* font, float x, float baseline, Color color, std::string_view text) {
    draw_text(list, font, ImVec2(x, baseline - font_ascent(font)), color, text);
}

float draw_spaced_text(ImDrawList& list, ImFont* font, ImVec2 at, Color color, std::string_view text, float spacing) {
    float x = at.x;
    while (!text.empty()) {
        const std::size_t length = std::max<std::size_t>(character_length(text), 1);
        draw_text(list, font, ImVec2(x, at.y), color, text.substr(0, length));
        x += text_width(font, text.substr(0, length)) + spacing;
        text.remove_prefix(length);
    }
    return x - at.x;
}

void draw_text_turned(ImDrawList& list, ImFont* font, ImVec2 center, Color color, std::string_view text) {
    const float width = text_width(font, text), height = font_size(font);
    const ImVec2 at(std::floor(center.x - width / 2), std::floor(center.y - height / 2));
    if (text.empty()) return;
    const int first = list.VtxBuffer.Size;
    // Rendered through the font, because AddText() would clip letters by their position before the rotation.
    font->RenderText(&list, height, at, color, ImVec4(-1e6f, -1e6f, 1e6f, 1e6f), text.data(), text.data() + text.size());
    const ImVec2 pivot(std::floor(center.x), std::floor(center.y));
    for (int i = first; i < list.VtxBuffer.Size; ++i) {
        ImVec2& p = list.VtxBuffer[i].pos;
        p = ImVec2(pivot.x + (p.y - pivot.y), pivot.y - (p.x - pivot.x));
    }
}

void draw_text_slanted(ImDrawList& list, ImFont* font, ImVec2 foot, Color color, std::string_view text) {
    if (text.empty()) return;
    constexpr float kDiagonal = 0.70710678f;
    const float height = font_size(font);
    const int first = list.VtxBuffer.Size;
    // Rendered through the font, as in draw_text_turned().
    font->RenderText(&list, height, ImVec2(std::floor(foot.x), std::floor(foot.y - height / 2)), color, ImVec4(-1e6f, -1e6f, 1e6f, 1e6f),
                     text.data(), text.data() + text.size());
    for (int i = first; i < list.VtxBuffer.Size; ++i) {
        ImVec2& p = list.VtxBuffer[i].pos;
        const float dx = p.x - foot.x, dy = p.y - foot.y;
        p = ImVec2(foot.x + (dx + dy) * kDiagonal, foot.y + (dy - dx) * kDiagonal);
    }
}

float draw_text_wrapped(ImDrawList& list, ImFont* font, ImVec2 at, float width, Color color, std::string_view text) {
    const std::vector<std::string_view> lines = wrapped_lines(font, text, width);
    float height = 0;
    for (const std::string_view line : lines) {
        draw_text(list, font, ImVec2(std::floor(at.x), std::floor(at.y) + height), color, line);
        height += font_size(font);
    }
    return height;
}

float wrapped_height(const ImFont* font, float width, std::string_view text) {
    return static_cast<float>(wrapped_lines(font, text, width).size()) * font_size(font);
}

std::vector<std::string> lines_of(const ImFont* font, std::string_view text, float width) {
    std::vector<std::string> lines(1);
    std::istringstream words{std::string(text)};
    for (std::string word; words >> word;) {
        const std::string longer = lines.back().empty() ? word : lines.back() + " " + word;
        if (lines.back().empty() || text_width(font, longer) <= width) lines.back() = longer;
        else lines.push_back(word);
    }
    return lines;
}

std::string elide(const ImFont* font, std::string_view text, float width) {
    if (text_width(font, text) <= width) return std::string(text);
    static constexpr std::string_view kEllipsis = "\u2026";
    float left = width - text_width(font, kEllipsis);
    std::size_t end = 0;
    while (end < text.size()) {
        const std::size_t length = std::max<std::size_t>(character_length(text.substr(end)), 1);
        left -= text_width(font, text.substr(end, length));
        if (left < 0) break;
        end += length;
    }
    if (end == 0) return {};
    return std::string(text.substr(0, end)).append(kEllipsis);
}

std::string elide_parts(const ImFont* font, std::string_view parts, float width) {
    while (text_width(font, parts) > width) {
        const std::size_t last = parts.rfind(" · ");
        if (last == std::string_view::npos) break;
        parts = parts.substr(0, last);
    }
    constexpr std::size_t kLeast = 12;
    const std::string shown = elide(font, parts, width);
    const bool says_too_little = shown != parts && (parts.size() <= kLeast || shown.size() < kLeast);
    return says_too_little ? std::string() : shown;
}

std::string visible_text(std::string_view text, bool keep_inner_spaces) {
    std::string shown;
    bool no_glyph_before = false;
    for (std::size_t at = 0; at < text.size();) {
        const auto code = static_cast<unsigned char>(text[at]);
        const std::size_t length = character_length(text.substr(at));
        const bool no_glyph = length > 1 && !has_glyph(code_point(text.substr(at, length)));
        const bool inner = keep_inner_spaces && at > 0 && at + 1 < text.size() && text[at - 1] != ' ' && text[at + 1] != ' ';
        if (length == 0 || (code < 0x20 && code != '\n' && code != '\t') || code == 0x7F) {
            std::array<char, 8> escape{};
            std::snprintf(escape.data(), escape.size(), "\\x%02X", code);
            shown += escape.data();
        } else if (code == ' ') {
            shown += inner ? " " : "\u2423";
        } else if (code == '\n') {
            shown += "\u21B5";
        } else if (code == '\t') {
            shown += "\u21E5";
        } else if (no_glyph) {
            const char32_t letter = code_point(text.substr(at, length));
            note_lacking_letter(letter);
            shown += code_point_text(letter, no_glyph_before);
        } else {
            shown += text.substr(at, length);
        }
        no_glyph_before = no_glyph;
        at += std::max<std::size_t>(length, 1);
    }
    return shown;
}

Color with_alpha(Color color, float opacity) {
    const float alpha = static_cast<float>(color >> 24) * std::clamp(opacity, 0.0f, 1.0f);
    return (color & 0x00FFFFFFu) | static_cast<Color>(std::lround(alpha)) << 24;
}

Color mix(Color from, Color to, float t) {
    Color result = 0;
    for (int shift = 0; shift < 32; shift += 8) {
        const float a = static_cast<float>(from >> shift & 0xFF), b = static_cast<float>(to >> shift & 0xFF);
        result |= static_cast<Color>(std::lround(a + (b - a) * std::clamp(t, 0.0f, 1.0f))) << shift;
    }
    return result;
}

float contrast(Color ink, Color background) {
    const float a = luminance(ink), b = luminance(background);
    return (std::max(a, b) + 0.05f) / (std::min(a, b) + 0.05f);
}

Color ink_on(Color background) {
    constexpr Color kDark = 0xFF181310u, kLight = 0xFFF7F4F2u, kBlack = 0xFF000000u, kWhite = 0xFFFFFFFFu;
    const auto better = [background](Color a, Color b) { return contrast(a, background) >= contrast(b, background) ? a : b; };
    const Color soft = better(kDark, kLight);
    return contrast(soft, background) >= kReadable ? soft : better(kBlack, kWhite);
}

}  // namespace attn::app
