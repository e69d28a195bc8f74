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

constexpr float kMenuContents = 316;
constexpr int kStops = 48;  ///< colour stops along the bar; the draw list interpolates between them

struct Tick {
    float place;  ///< 0 = bottom, 1 = top
    std::string text;
};

std::string tick_text(float value, const HeatmapStyle& style, const ColorBarOptions& options) {
    if (options.turned) value = -value;
    const bool signed_ends = style.lo < 0 && style.hi > 0 && value != 0;
    // Enough digits to tell the ends of a narrow range from its middle.
    const float range = std::abs(style.hi - style.lo);
    const int decimals = range > 0 && range < 0.1F ? std::min(2 - static_cast<int>(std::floor(std::log10(range))), 6) : 2;
    return format_number(value, {.decimals = decimals, .plus = signed_ends});
}

/// An end of the range stands for all numbers beyond it, if there are any.
std::vector<Tick> ticks_of(const HeatmapStyle& style, const ColorBarOptions& options) {
    // With a range per row, the ends have no common value.
    if (style.per_row)
        return {{0, style.map == ColorMap::Diverging ? "\u2212row" : "row min"},
                {1, style.map == ColorMap::Diverging ? "+row" : "row max"}};
    const bool above = options.cut_above || (options.has_marker && options.marker > style.hi),
               below = options.has_marker && options.marker < style.lo;
    std::vector<Tick> ticks{{0, (below ? "≤" : "") + tick_text(style.lo, style, options)},
                            {1, (above ? "≥" : "") + tick_text(style.hi, style, options)}};
    if (style.lo < 0 && style.hi > 0) {
        const float zero = place_of(value_scale(style), 0);
        if (zero > 0.1f && zero < 0.9f) ticks.push_back({zero, "0"});
    } else {
        ticks.push_back({0.5f, tick_text(value_at(style, 0.5f), style, options)});
    }
    return ticks;
}

/// From the bottom to the top, or from the left to the right.
void draw_bar(const Ui& ui, ImDrawList& list, ImVec2 min, ImVec2 max, const HeatmapStyle& style, bool lying = false) {
    HeatmapStyle one = style;
    one.per_row = false;
    const float width = max.x - min.x, height = max.y - min.y;
    for (int i = 0; i < kStops; ++i) {
        const float t0 = static_cast<float>(i) / kStops, t1 = static_cast<float>(i + 1) / kStops;
        const Color lower = ui.canvas.color(one, value_at(one, t0)), upper = ui.canvas.color(one, value_at(one, t1));
        if (lying)
            list.AddRectFilledMultiColor(ImVec2(min.x + width * t0, min.y), ImVec2(min.x + width * t1, max.y), lower, upper, upper, lower);
        else
            list.AddRectFilledMultiColor(ImVec2(min.x, max.y - height * t1), ImVec2(max.x, max.y - height * t0), upper, upper, lower,
                                         lower);
    }
    const float line = std::max(1.0f, ui.px(1));
    list.AddRect(ImVec2(min.x - line, min.y - line), ImVec2(max.x + line, max.y + line), ui.colors().line, 0, 0, line);
}

/// The automatic range modes.
struct AutomaticRange {
    RangeMode mode;
    const char* name;
};
constexpr std::array<AutomaticRange, 5> kAutomatic = {{{RangeMode::Auto, "auto"},
                                                       {RangeMode::UnitRange, "0 to 1"},
                                                       {RangeMode::Symmetric, "to the largest"},
                                                       {RangeMode::Tensor, "min to max"},
                                                       {RangeMode::Uniform, "4 × uniform"}}};

bool is_fixed(RangeMode mode) { return mode == RangeMode::Manual; }

/// Fixes the range to the one shown, so that nothing changes visibly.
void fix_range(ColorOptions& options, const HeatmapStyle& shown) {
    if (is_fixed(options.range)) return;
    options.range = RangeMode::Manual;
    options.lo = shown.lo;
    options.hi = shown.hi;
}

/// A field for one end of the range: dragged, or typed into after a double-click or Enter.
bool end_field(const Ui& ui, const char* label, float& value, float speed) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float room = ui.px(32), high = font_size(ui.fonts().mono) + 2 * ImGui::GetStyle().FramePadding.y;
    draw_text_in(*ImGui::GetWindowDrawList(), ui.fonts().label, at, ImVec2(at.x + room, at.y + high), ImVec2(0, 0.5f), ui.colors().muted,
                 label);
    ImGui::SetCursorScreenPos(ImVec2(at.x + room, at.y));
    ImGui::SetNextItemWidth(ui.px(96));
    int& wanted = *ImGui::GetStateStorage()->GetIntRef(ImGui::GetID(label));
    if (wanted != 0) focus_next_field();
    wanted = 0;
    push_font(ui.fonts().mono);
    ImGui::PushStyleColor(ImGuiCol_FrameBg, ui.colors().window);
    ImGui::PushStyleColor(ImGuiCol_FrameBgHovered, ui.colors().window);
    ImGui::PushStyleColor(ImGuiCol_FrameBgActive, ui.colors().window);
    ImGui::PushID(label);
    const bool changed = ImGui::DragFloat("##end", &value, speed, 0, 0, "%.4g");
    ImGui::PopID();
    ImGui::PopStyleColor(3);
    ImGui::PopFont();
    Item item;
    item.min = ImGui::GetItemRectMin();
    item.max = ImGui::GetItemRectMax();
    const ControlNotes notes{.tooltip = "Drag it, or double-click to type. Numbers beyond it get the colour of this end."};
    if (join_keyboard(ui, label, notes, item)) wanted = 1;
    if (!ImGui::IsItemActive()) tooltip_for_last(ui, notes.tooltip);
    draw_focus_ring(ui, item, ui.px(4));
    return changed && std::isfinite(value);
}

/// Fields for both ends; changing one fixes the range.
void end_fields(const Ui& ui, ColorOptions& options, const HeatmapStyle& shown) {
    const bool fixed = is_fixed(options.range);
    float lo = fixed ? options.lo : shown.lo, hi = fixed ? options.hi : shown.hi;
    const float speed = std::max(std::abs(hi - lo) / 200, 1e-6F);
    bool changed = end_field(ui, "from", lo, speed);
    ImGui::SameLine(0, ui.px(14));
    changed = end_field(ui, "to", hi, speed) || changed;
    if (!changed) return;
    options.range = RangeMode::Manual;
    options.lo = lo;
    options.hi = hi;
}

void range_part(const Ui& ui, ColorOptions& options, bool probability, const HeatmapStyle& shown) {
    static constexpr std::array<std::string_view, 3> kKinds = {"automatic", "fixed", "each row"};
    section_heading(ui, "range");
    int kind = is_fixed(options.range) ? 1 : options.range == RangeMode::Row ? 2 : 0;
    if (segmented(ui, "##kind", kKinds, kind, 0,
                  {.tooltip = "Automatic follows the numbers. Fixed stays, so that you can compare stages and texts. Each row has its own "
                              "range: one colour can mean different numbers in two rows."})) {
        if (kind == 1) fix_range(options, shown);
        else options.range = kind == 2 ? RangeMode::Row : RangeMode::Auto;
    }
    gap(ui, 6);
    end_fields(ui, options, shown);
    if (kind != 0) return;
    gap(ui, 6);
    std::vector<std::string_view> names;
    std::vector<RangeMode> modes;
    for (const auto& [mode, name] : kAutomatic) {
        // Signed numbers are centred on 0 by default, so these modes would be redundant.
        if (!probability && (mode == RangeMode::Uniform || mode == RangeMode::Symmetric)) continue;
        names.emplace_back(mode == RangeMode::Auto ? probability ? "by weights" : "to the largest" : name);
        modes.push_back(mode);
    }
    const RangeMode now = !probability && options.range == RangeMode::Symmetric ? RangeMode::Auto : options.range;
    int chosen = static_cast<int>(std::find(modes.begin(), modes.end(), now) - modes.begin());
    if (segmented(ui, "##automatic", names, chosen, 0,
                  {.tooltip = probability ? "By weights: 0 to 1, or with more than 24 keys up to twelve times the uniform weight, which is "
                                            "1 ÷ the number of keys."
                                          : "To the largest: symmetric about 0, up to the largest magnitude in this view."}))
        options.range = modes[static_cast<std::size_t>(chosen)];
}

void scale_part(const Ui& ui, ColorOptions& options, const HeatmapStyle& shown) {
    toggle_row(ui, "Logarithmic", options.log, "small numbers spread out",
               {.tooltip = "Every factor of ten takes the same length of the bar."});
    bool diverging = shown.map == ColorMap::Diverging;
    if (toggle_row(ui, "Diverging", diverging, "two colours, 0 in the middle",
                   {.tooltip = "Negative numbers are blue, positive ones orange; the range is symmetric about 0."}))
        options.map = diverging ? ColorMap::Diverging : ColorMap::Sequential;
}

void colors_part(const Ui& ui, ColorOptions& options) {
    section_heading(ui, "colours");
    std::vector<std::string_view> names;
    for (int i = 0; i < kColorMapCount; ++i) names.push_back(color_map_words(static_cast<ColorMap>(i)));
    int chosen = static_cast<int>(options.map);
    if (segmented(ui, "##map", names, chosen, 0,
                  {.tooltip = "Which colours are used. Automatic: blue for weights, blue to orange for other numbers."}))
        options.map = static_cast<ColorMap>(chosen);
}

/// A label at an end of the bar that can be dragged vertically. True if the value changed.
bool drag_end(const Ui& ui, const char* id, ImVec2 min, ImVec2 size, float height, float& value, float reach) {
    const Item item =
        item_at(ui, id, min, size, {.tooltip = "Drag to move this end of the range; double-click: automatic again.", .keyboard = false});
    if (item.hovered || item.held) {
        ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeNS);
        ImGui::GetWindowDrawList()->AddLine({item.min.x, item.max.y}, item.max, ui.colors().accent, ui.px(1));
    }
    const float moved = item.held && !ImGui::IsMouseClicked(0) ? ImGui::GetIO().MouseDelta.y : 0;
    value -= moved / height * reach;
    return moved != 0;
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
    // On a very short bar the labels would overlap.
    for (const Tick& tick : height < 2 * font_size(font) ? std::vector<Tick>() : ticks_of(style, options)) {
        // Keep the end labels within the bar's height.
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

float lying_color_bar(const Ui& ui, ImVec2 at, const HeatmapStyle& style, const ColorBarOptions& options) {
    constexpr float kLength = 64, kLow = 8, kBetween = 7;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    ImFont* font = ui.fonts().mono_small;
    const std::vector<Tick> ticks = ticks_of(style, options);  // begins with the two ends
    draw_text(list, font, at, ui.colors().muted, ticks[0].text);
    const float from = std::round(at.x + text_width(font, ticks[0].text) + ui.px(kBetween)), to = from + std::round(ui.px(kLength));
    const float middle = at.y + font_size(font) / 2, half = ui.px(kLow) / 2;
    draw_bar(ui, list, ImVec2(from, std::round(middle - half)), ImVec2(to, std::round(middle + half)), style, true);
    draw_text(list, font, ImVec2(to + ui.px(kBetween), at.y), ui.colors().muted, ticks[1].text);
    return to + ui.px(kBetween) + text_width(font, ticks[1].text) - at.x;
}

bool drag_color_ends(const Ui& ui, const char* id, ImVec2 min, float bottom, const HeatmapStyle& shown, ColorOptions& options,
                     const ColorBarOptions& bar) {
    if (ui.without_controls || shown.per_row || bottom - min.y < 4 * font_size(ui.fonts().mono_small)) return false;
    const ColorOptions before = options;
    const float line = font_size(ui.fonts().mono_small) + ui.px(2), x = min.x + ui.px(bar.width + 5), height = bottom - min.y;
    float lo = shown.lo, hi = shown.hi;
    ImGui::PushID(id);
    const ImVec2 size{ui.px(48), line};
    const bool top_moved = drag_end(ui, "##hi", {x, min.y - ui.px(1)}, size, height, hi, shown.hi - shown.lo);
    const bool top_again = ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(0);
    const bool low_moved = drag_end(ui, "##lo", {x, bottom - line}, size, height, lo, shown.hi - shown.lo);
    const bool low_again = ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(0);
    ImGui::PopID();
    if (top_again || low_again) {
        options.range = RangeMode::Auto;
    } else if (top_moved || low_moved) {
        // Keeps the ends apart, and those of a diverging map symmetric.
        const float least = (shown.hi - shown.lo) / 1000;
        const bool diverging = shown.map == ColorMap::Diverging;
        if (top_moved) hi = std::max(hi, diverging ? least : lo + least);
        if (low_moved) lo = std::min(lo, diverging ? -least : hi - least);
        if (diverging) (top_moved ? lo : hi) = top_moved ? -hi : -lo;
        options.range = RangeMode::Manual;
        options.lo = lo;
        options.hi = hi;
    }
    return !(options == before);
}

bool color_menu(const Ui& ui, const char* id, ColorOptions& options, bool probability, const HeatmapStyle& shown,
                std::span<const MenuSwitch> switches, bool capped, std::string_view of, std::string_view told) {
    const ColorOptions before = options;
    const std::string words = told.empty() ? range_words(options, probability, shown.hi, capped, of) : std::string(told);
    if (!begin_menu_link(
            ui, id, words,
            {.tooltip = "Which colour means which number: automatic or fixed range, logarithmic, diverging.", .words = "colour scale"}))
        return false;
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(ui.px(8), ui.px(4)));
    ImGui::Dummy(ImVec2(ui.px(kMenuContents), 1));
    ImGui::Indent(ui.px(6));
    range_part(ui, options, probability, shown);
    gap(ui, 8);
    scale_part(ui, options, shown);
    gap(ui, 4);
    colors_part(ui, options);
    for (const MenuSwitch& one : switches) {
        gap(ui, 4);
        toggle_row(ui, one.label, *one.on, one.caption, one.notes);
    }
    ImGui::Unindent(ui.px(6));
    ImGui::PopStyleVar();
    end_menu_button();
    return !(options == before);
}

}  // namespace attn::app
