#include "app/widgets/shape_text.hpp"

#include <optional>

#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

std::optional<Color> role_color(const Theme& theme, char role) {
    const Palette& c = theme.colors;
    switch (role) {
    case 'x':
        return c.chosen;
    case 'a':
        return c.accent;
    case 'm':
        return c.muted;
    case 'f':
        return c.faint;
    case 'g':
        return c.good;
    case 'r':
        return c.bad;
    default:
        break;
    }
    for (int i = 0; i <= static_cast<int>(Axis::N); ++i) {
        const auto axis = static_cast<Axis>(i);
        if (axis_letter(axis)[0] == role) return c.axis(axis);
    }
    return std::nullopt;
}

void append(std::vector<ColoredText>& runs, Color color, std::string_view text) {
    if (text.empty()) return;
    if (!runs.empty() && runs.back().color == color) {
        runs.back().text.append(text);
    } else {
        runs.push_back({color, std::string(text)});
    }
}

}  // namespace

std::vector<ColoredText> shape_runs(const Theme& theme, const Shape& shape, bool long_form) {
    std::vector<ColoredText> runs;
    append(runs, theme.colors.faint, "[");
    bool first = true;
    for (const Dim& dim : shape) {
        if (!first) append(runs, theme.colors.faint, long_form ? ", " : " ");
        append(runs, theme.colors.axis(dim.axis), std::string(axis_letter(dim.axis)) + (long_form ? "=" : "") + std::to_string(dim.size));
        first = false;
    }
    append(runs, theme.colors.faint, "]");
    return runs;
}

float draw_shape(ImDrawList& list, const Theme& theme, ImFont* font, ImVec2 at, const Shape& shape, bool long_form) {
    return draw_runs(list, font, at, shape_runs(theme, shape, long_form));
}

float draw_shape_in(ImDrawList& list, const Theme& theme, ImFont* font, ImVec2 at, float width, const Shape& shape) {
    const auto wide = shape_runs(theme, shape, true);
    if (runs_width(font, wide) <= width) return draw_runs(list, font, at, wide);
    auto runs = shape_runs(theme, shape, false);
    float left = width;
    for (ColoredText& run : runs) {
        run.text = elide(font, run.text, left);
        left = std::max(0.0f, left - text_width(font, run.text));
    }
    return draw_runs(list, font, at, runs);
}

std::vector<ColoredText> formula_runs(const Theme& theme, std::string_view markup) {
    std::vector<ColoredText> runs;
    for (std::size_t at = 0; at < markup.size();) {
        const std::string_view rest = markup.substr(at);
        if (rest.substr(0, 2) == "{{") {
            append(runs, theme.colors.text, "{");
            at += 2;
            continue;
        }
        const bool opens = rest.size() >= 3 && rest[0] == '{' && rest[2] == ':';
        const std::optional<Color> color = opens ? role_color(theme, rest[1]) : std::nullopt;
        const std::size_t close = color ? rest.find('}', 3) : std::string_view::npos;
        if (close != std::string_view::npos) {
            append(runs, *color, rest.substr(3, close - 3));
            at += close + 1;
        } else {
            append(runs, theme.colors.text, rest.substr(0, 1));
            ++at;
        }
    }
    return runs;
}

float draw_formula(ImDrawList& list, const Theme& theme, ImFont* font, ImVec2 at, std::string_view markup) {
    return draw_runs(list, font, at, formula_runs(theme, markup));
}

float formula_width(const Theme& theme, const ImFont* font, std::string_view markup) {
    return runs_width(font, formula_runs(theme, markup));
}

std::string plain_formula(std::string_view markup) {
    std::string text;
    for (const ColoredText& run : formula_runs(Theme{}, markup)) text += run.text;
    return text;
}

float draw_runs(ImDrawList& list, ImFont* font, ImVec2 at, const std::vector<ColoredText>& runs) {
    float x = at.x;
    for (const ColoredText& run : runs) {
        draw_text(list, font, ImVec2(x, at.y), run.color, run.text);
        x += text_width(font, run.text);
    }
    return x - at.x;
}

float runs_width(const ImFont* font, const std::vector<ColoredText>& runs) {
    float width = 0;
    for (const ColoredText& run : runs) width += text_width(font, run.text);
    return width;
}

}  // namespace attn::app
