#include <algorithm>
#include <array>
#include <cmath>

#include "app/widgets/heatmap_geometry.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/value_scale.hpp"

namespace attn::app {
namespace {

constexpr float kLowest = 18;        ///< minimum logical cell height for numbers
constexpr float kTenthsFrom = 34;    ///< minimum logical cell width for a decimal after two integer digits
constexpr float kInfinityFrom = 34;  ///< minimum logical cell width for writing −∞ into a masked cell

struct NumberLook {
    ImFont* font = nullptr;
    int characters = 0;
    int decimals = -1;   ///< for all numbers of the map; -1 if there is no room for numbers
    bool brief = false;  ///< ".3" instead of "0.3", because the zero would touch the neighbouring number
};

/// Integer digits; none for numbers up to 1, so that a weight's 0 or 1 does not count.
int figures_before_the_point(float largest) { return largest <= 1 ? 0 : static_cast<int>(std::floor(std::log10(largest))) + 1; }

NumberLook number_look(const Ui& ui, const HeatmapGeometry& geometry, const HeatmapStyle& style) {
    NumberLook look;
    const float w = geometry.cell_w(), h = geometry.cell_h(), room = w - ui.px(2);
    const int figures = cell_figures(w / ui.theme.scale);
    if (figures == 0 || h < ui.px(kLowest)) return look;
    const float largest = style.per_row ? 9 : std::max(std::abs(style.lo), std::abs(style.hi));
    const int before = figures_before_the_point(largest);
    // With large numbers in the map, those between -1 and 1 still get a decimal if it fits.
    const int after = std::max(figures - before, w >= ui.px(kTenthsFrom) ? 1 : 0);
    const int characters = (style.lo < 0 ? 1 : 0) + std::max(before, 1) + (after > 0 ? after + 1 : 0);
    // The largest font that leaves a gap between numbers, otherwise the smallest.
    const std::array<ImFont*, 3> fonts{ui.fonts().mono, ui.fonts().mono_small, ui.fonts().mono_tiny};
    for (ImFont* font : fonts) {
        look.font = font;
        if (static_cast<float>(characters) * text_width(font, "0") <= room - ui.px(4) && font_size(font) + ui.px(4) <= h) break;
    }
    look.characters = static_cast<int>((room + 0.5f) / std::max(1.0f, text_width(look.font, "0")));
    look.brief = before == 0 && static_cast<float>(characters) * text_width(look.font, "0") > room - ui.px(4);
    look.decimals = std::min(after, std::max(look.characters - (characters - (look.brief ? 1 : 0)) + after, 0));
    return look;
}

/// A number below 1 without its zero, ".08", with the fewest decimals that show its first digit; "" if that does not fit.
std::string small_number(float value, const NumberLook& look) {
    constexpr int kMost = 3;
    for (int decimals = look.decimals + 1; decimals <= kMost; ++decimals) {
        if (std::abs(value) < std::pow(10.0, -decimals)) continue;
        std::string text = format_number(value, {.decimals = decimals, .fixed = true});
        if (const std::size_t zero = text.find("0."); zero != std::string::npos) text.erase(zero, 1);
        return number_length(text) <= look.characters ? text : std::string();
    }
    return "";
}

/// The number with as many decimals as fit, possibly in scientific notation; "" if nothing fits. A nonzero number is never shown as zero.
std::string fitting_text(float value, const NumberLook& look) {
    for (int decimals = look.decimals; decimals >= 0; --decimals) {
        if (value != 0 && std::abs(value) < 0.5 * std::pow(10.0, -decimals)) break;
        std::string text = format_number(value, {.decimals = decimals, .fixed = true});
        const std::size_t zero = text.find("0.");
        const bool below_one = zero != std::string::npos && zero == text.find_first_of("0123456789");
        if (below_one && (look.brief || number_length(text) > look.characters)) text.erase(zero, 1);
        if (number_length(text) <= look.characters) return text;
    }
    if (std::string text = small_number(value, look); !text.empty()) return text;
    std::string text = format_scientific(value, 0);
    return number_length(text) <= look.characters ? text : std::string();
}

/// A text that fits only in the smallest font is written in it, so that no number is missing for its sign alone.
struct FittingText {
    std::string text;
    ImFont* font = nullptr;
};
FittingText text_that_fits(const Ui& ui, float value, const NumberLook& look, float room) {
    FittingText fitting{fitting_text(value, look), look.font};
    ImFont* const tiny = ui.fonts().mono_tiny;
    if (!fitting.text.empty() || look.font == tiny) return fitting;
    NumberLook smaller = look;
    smaller.font = tiny;
    smaller.characters = static_cast<int>((room + 0.5F) / std::max(1.0F, text_width(tiny, "0")));
    return {fitting_text(value, smaller), tiny};
}

/// Whether a weight is negligible and is written faintly.
bool is_little(const HeatmapStyle& style, float value) { return style.lo == 0 && value < 0.045f * style.hi; }

/// Whether the edge of the map would cut through a centred text of this size: a clipped "0.07" could read "07".
bool is_cut(const HeatmapGeometry& g, const ImVec2& cell_min, const ImVec2& cell_max, float width, float height) {
    const float x = (cell_min.x + cell_max.x) / 2, y = (cell_min.y + cell_max.y) / 2;
    return x - width / 2 < g.min.x || x + width / 2 > g.max.x || y - height / 2 < g.min.y || y + height / 2 > g.max.y;
}

}  // namespace

int cell_figures(float width) { return width < 20 ? 0 : width < 26 ? 1 : width < 44 ? 2 : width < 56 ? 3 : 4; }

void draw_cell_numbers(const Ui& ui, ImDrawList& list, const HeatmapGeometry& geometry, const HeatmapData& data, const HeatmapStyle& style,
                       bool dropped) {
    const NumberLook look = number_look(ui, geometry, style);
    if (look.decimals < 0) return;
    for (std::int64_t row = geometry.first_row(); row < geometry.end_row(); ++row) {
        const HeatmapStyle own = row_style(data, style, row);
        for (std::int64_t col = geometry.first_col(); col < geometry.end_col(); ++col) {
            if (!data.knows(row, col)) continue;
            const float value = data.at(row, col);
            const bool masked = data.masked(row, col);
            if (dropped && value == 0) continue;
            // Masked cells are hatched. Only a masked score that the softmax reads as −∞ is written as well.
            if (masked && !(std::isinf(value) && value < 0 && geometry.cell_w() >= ui.px(kInfinityFrom))) continue;
            const auto [text, font] = text_that_fits(ui, value, look, geometry.cell_w() - ui.px(2));
            const auto x = static_cast<double>(col), y = static_cast<double>(row);
            const ImVec2 min(geometry.x_of(x), geometry.y_of(y)), max(geometry.x_of(x + 1), geometry.y_of(y + 1));
            if (is_cut(geometry, min, max, text_width(font, text), font_size(font))) continue;
            const Color cell = ui.canvas.color(own, value);
            Color ink = masked ? ui.colors().faint : ink_on(cell);
            if (!masked && is_little(own, value) && contrast(ui.colors().faint, cell) >= kReadable) ink = ui.colors().faint;
            if (!masked && std::isinf(value)) {
                // Infinities are drawn with strong stripes, so put the sign on a plain background.
                const float half = text_width(font, text) / 2 + ui.px(3), middle = (min.x + max.x) / 2, y_middle = (min.y + max.y) / 2;
                const float half_h = font_size(font) / 2 + ui.px(1);
                list.AddRectFilled(ImVec2(middle - half, y_middle - half_h), ImVec2(middle + half, y_middle + half_h), ui.colors().pane,
                                   ui.px(3));
                ink = ui.colors().text;
            }
            draw_text_in(list, font, min, max, ImVec2(0.5f, 0.5f), ink, text);
        }
    }
}

}  // namespace attn::app
