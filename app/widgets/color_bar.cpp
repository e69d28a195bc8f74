#include "app/widgets/color_bar.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/slider.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/value_scale.hpp"

namespace attn::app {
namespace {

constexpr int kStops = 48;  ///< colours along the bar; the list blends between them

struct Tick {
    float place;  ///< 0 bottom, 1 top
    std::string text;
};

std::string tick_text(float value, const HeatmapStyle& style) {
    const bool signed_ends = style.lo < 0 && style.hi > 0 && value != 0;
    return format_number(value, {.decimals = 2, .plus = signed_ends});
}

std::vector<Tick> ticks_of(const HeatmapStyle& style) {
    // Rows differ in what the ends mean.
    if (style.per_row)
        return {{0, style.map == ColorMap::Diverging ? "\u2212row" : "row min"},
                {1, style.map == ColorMap::Diverging ? "+row" : "row max"}};
    std::vector<Tick> ticks{{0, tick_text(style.lo, style)}, {1, tick_text(style.hi, style)}};
    if (style.lo < 0 && style.hi > 0) {
        const float zero = place_of(value_scale(style), 0);
        if (zero > 0.1f && zero < 0.9f) ticks.push_back({zero, "0"});
    } else {
        ticks.push_back({0.5f, tick_text(value_at(style, 0.5f), style)});
    }
    return ticks;
}

void draw_bar(const Ui& ui, ImDrawList& list, ImVec2 min, ImVec2 max, const HeatmapStyle& style) {
    HeatmapStyle one = style;
    one.per_row = false;
    const float height = max.y - min.y;
    for (int i = 0; i < kStops; ++i) {
        const float t0 = static_cast<float>(i) / kStops, t1 = static_cast<float>(i + 1) / kStops;
        const Color lower = ui.canvas.color(one, value_at(one, t0)), upper = ui.canvas.color(one, value_at(one, t1));
        list.AddRectFilledMultiColor(ImVec2(min.x, max.y - height * t1), ImVec2(max.x, max.y - height * t0), upper, upper, lower, lower);
    }
    const float line = std::max(1.0f, ui.px(1));
    list.AddRect(ImVec2(min.x - line, min.y - line), ImVec2(max.x + line, max.y + line), ui.colors().line, 0, 0, line);
}

/// Fields for a range by hand; true when one of them changed.
bool manual_fields(const Ui& ui, ColorOptions& options) {
    bool changed = false;
    const std::array<std::pair<const char*, float*>, 2> fields{{{"from", &options.lo}, {"to", &options.hi}}};
    for (const auto& [name, value] : fields) {
        ImGui::SetCursorPosX(ImGui::GetCursorPosX() + ui.px(28));
        ImGui::SetNextItemWidth(ui.px(96));
        push_font(ui.fonts().mono);
        changed = ImGui::InputFloat(name, value, 0, 0, "%.4g") || changed;
        ImGui::PopFont();
    }
    return changed;
}

}  // namespace

float color_bar(const Ui& ui, ImVec2 min, float bottom, const HeatmapStyle& style, const ColorBarOptions& options) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    min = ImVec2(std::round(min.x), std::round(min.y));
    const ImVec2 max(min.x + std::round(ui.px(options.width)), std::round(bottom));
    if (!(max.y > min.y)) return 0;
    draw_bar(ui, list, min, max, style);
    ImFont* font = ui.fonts().mono_small;
    const float x = max.x + ui.px(7), height = max.y - min.y, half = font_size(font) / 2;
    float widest = 0;
    for (const Tick& tick : ticks_of(style)) {
        // The ends' numbers stay beside the bar.
        const float y = std::clamp(max.y - height * tick.place, min.y + half, max.y - half);
        if (tick.place > 0 && tick.place < 1) {
            if (height < 6 * font_size(font)) continue;
            list.AddRectFilled(ImVec2(max.x, std::round(y)), ImVec2(max.x + ui.px(4), std::round(y) + std::max(1.0f, ui.px(1))),
                               ui.colors().faint);
        }
        draw_text(list, font, ImVec2(x, y - half), ui.colors().muted, tick.text);
        widest = std::max(widest, text_width(font, tick.text));
    }
    if (options.has_marker && !style.per_row && !std::isnan(options.marker)) {
        const float y = std::round(max.y - height * place_of(value_scale(style), options.marker)), wing = ui.px(5);
        list.AddTriangleFilled(ImVec2(min.x, y), ImVec2(min.x - wing, y - wing * 0.8f), ImVec2(min.x - wing, y + wing * 0.8f),
                               ui.colors().text);
        list.AddLine(ImVec2(min.x, y), ImVec2(max.x, y), with_alpha(ui.colors().text, 0.8f), std::max(1.0f, ui.px(1)));
    }
    return ui.px(7) + widest;
}

bool color_menu(const Ui& ui, const char* id, ColorOptions& options, bool probability, const HeatmapStyle& shown) {
    const ColorOptions before = options;
    const std::string words = range_words(options, probability, shown.hi);
    if (!begin_menu_link(ui, id, words, {.tooltip = "the range of the colours, and which colours"})) return false;
    section_heading(ui, "range");
    for (int i = 0; i < kRangeModeCount; ++i) {
        const auto mode = static_cast<RangeMode>(i);
        std::string detail;
        if (mode == RangeMode::Auto)
            detail = probability ? "0 to 1; over more than 24 keys to twelve even shares" : "symmetric about 0 for signed numbers";
        if (mode == RangeMode::Uniform) {
            if (!probability) continue;
            detail = "ends at four times an even share of all keys";
        }
        if (mode == RangeMode::Row) detail = "the same colour can mean different numbers in two rows";
        // By hand goes on with typing the ends.
        if (menu_item(ui, range_mode_words(mode), options.range == mode, detail, {}, mode == RangeMode::Manual)) {
            if (mode == RangeMode::Manual && options.range != mode) {
                // Starts from what is shown, so that nothing jumps.
                options.lo = shown.lo;
                options.hi = shown.hi;
            }
            options.range = mode;
        }
    }
    if (options.range == RangeMode::Manual) manual_fields(ui, options);
    gap(ui, 6);
    if (menu_item(ui, "logarithmic", options.log, "small numbers spread out", {}, true)) options.log = !options.log;
    gap(ui, 6);
    section_heading(ui, "colours");
    for (int i = 0; i < kColorMapCount; ++i) {
        const auto map = static_cast<ColorMap>(i);
        ImGui::PushID("map");
        if (menu_item(ui, color_map_words(map), options.map == map)) options.map = map;
        ImGui::PopID();
    }
    end_menu_button();
    return !(options == before);
}

}  // namespace attn::app
