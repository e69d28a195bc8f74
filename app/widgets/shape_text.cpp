#include "app/widgets/shape_text.hpp"

#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

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
