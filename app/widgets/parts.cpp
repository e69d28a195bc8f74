#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "app/widgets/box.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/keyboard_focus.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kTooltipDelay = 0.4f, kTooltipWidth = 440;

std::string upper(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    return result;
}

}  // namespace

void section_heading(const Ui& ui, std::string_view text) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    draw_spaced_text(*ImGui::GetWindowDrawList(), ui.fonts().small, at, ui.colors().faint, upper(text), ui.px(0.9f));
    ImGui::Dummy(ImVec2(1, font_size(ui.fonts().small) + ui.px(6)));
}

bool fold_heading(const Ui& ui, const char* title, bool open, std::string_view shown, const ControlNotes& notes, bool below) {
    const Palette& c = ui.colors();
    const float line = ui.px(22), second = below && !open ? ui.px(18) : 0;
    const Item item = begin_item(ui, title, ImVec2(ImGui::GetContentRegionAvail().x, line + second), notes);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Color ink = item.hovered ? c.text : c.muted;
    const ImVec2 end(item.max.x, item.min.y + line);
    const float x = item.min.x + ui.px(5), y = std::round((item.min.y + end.y) / 2), r = ui.px(4);
    if (open) list.AddTriangleFilled(ImVec2(x - r, y - r * 0.6f), ImVec2(x + r, y - r * 0.6f), ImVec2(x, y + r * 0.8f), ink);
    else list.AddTriangleFilled(ImVec2(x - r * 0.6f, y - r), ImVec2(x + r * 0.8f, y), ImVec2(x - r * 0.6f, y + r), ink);
    const std::string_view text = shown_label(title);
    const float left = item.min.x + ui.px(18), room = item.max.x - left, title_width = text_width(ui.fonts().strong, text);
    draw_text_in(list, ui.fonts().strong, ImVec2(left, item.min.y), end, ImVec2(0, 0.5f), c.text, elide(ui.fonts().strong, text, room));
    if (second > 0)
        draw_text_in(list, ui.fonts().label, ImVec2(left, end.y - ui.px(2)), item.max, ImVec2(0, 0), c.faint,
                     elide(ui.fonts().label, shown, room));
    else if (!open)
        draw_text_in(list, ui.fonts().label, item.min, end, ImVec2(1, 0.5f), c.faint,
                     elide(ui.fonts().label, shown, std::max(0.0f, room - title_width - ui.px(10))));
    draw_focus_ring(ui, item, ui.px(4));
    return item.pressed;
}

void separator(const Ui& ui, float height) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float y = std::floor(at.y + ui.px(height / 2)), width = ImGui::GetContentRegionAvail().x;
    ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(at.x, y), ImVec2(at.x + width, y + std::max(1.0f, ui.px(1))), ui.colors().line);
    ImGui::Dummy(ImVec2(1, ui.px(height)));
}

void gap(const Ui& ui, float logical) { ImGui::Dummy(ImVec2(1, std::max(0.0f, ui.px(logical) - ImGui::GetStyle().ItemSpacing.y))); }

bool value_row(const Ui& ui, std::string_view label, std::string_view value, std::string_view tooltip) {
    ImGui::PushID(label.data(), label.data() + label.size());
    const Item item = begin_item(ui, "row", ImVec2(ImGui::GetContentRegionAvail().x, ui.px(22)), {.tooltip = tooltip, .words = label});
    ImGui::PopID();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float value_width = text_width(ui.fonts().mono, value);
    draw_text_in(list, ui.fonts().label, item.min, item.max, ImVec2(0, 0.5f), ui.colors().muted,
                 elide(ui.fonts().label, label, item.width() - value_width - ui.px(8)));
    draw_text_in(list, ui.fonts().mono, item.min, item.max, ImVec2(1, 0.5f), ui.colors().text, value);
    draw_focus_ring(ui, item, ui.px(4));
    return item.pressed;
}

void paragraph(const Ui& ui, ImFont* font, Color color, std::string_view text, float width) {
    if (text.empty()) return;
    const float wrap = width > 0 ? ui.px(width) : ImGui::GetContentRegionAvail().x;
    const float height = draw_text_wrapped(*ImGui::GetWindowDrawList(), font, ImGui::GetCursorScreenPos(), wrap, color, text);
    ImGui::Dummy(ImVec2(wrap, height));
}

void text_line(const Ui&, ImFont* font, Color color, std::string_view text) {
    draw_text(*ImGui::GetWindowDrawList(), font, ImGui::GetCursorScreenPos(), color, text);
    ImGui::Dummy(ImVec2(text_width(font, text), font_size(font)));
}

bool link(const Ui& ui, const char* label, std::string_view tooltip) {
    if (ui.without_controls) return false;
    ImFont* font = ui.fonts().label;
    const std::string_view text = shown_label(label);
    const Item item = begin_item(ui, label, ImVec2(text_width(font, text), font_size(font) + ui.px(4)), {.tooltip = tooltip});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text_in(list, font, item.min, item.max, ImVec2(0, 0.5f), ui.colors().accent, text);
    if (item.hovered)
        list.AddLine(ImVec2(item.min.x, item.max.y - ui.px(1)), ImVec2(item.max.x, item.max.y - ui.px(1)), ui.colors().accent, ui.px(1));
    draw_focus_ring(ui, item, ui.px(3));
    return item.pressed;
}

float key_cap_width(const Ui& ui, std::string_view key) {
    return std::max(text_width(ui.fonts().mono_small, key) + 2 * ui.px(6), ui.px(22));
}

float draw_key_cap(const Ui& ui, ImDrawList& list, ImVec2 at, std::string_view key) {
    ImFont* font = ui.fonts().mono_small;
    const ImVec2 size(key_cap_width(ui, key), ui.px(22));
    const ImVec2 max(at.x + size.x, at.y + size.y);
    list.AddRectFilled(at, max, ui.colors().raised, ui.px(4));
    list.AddRect(at, max, ui.colors().line, ui.px(4), 0, ui.px(1));
    // The thicker lower edge makes it look like a key.
    list.AddRectFilled(ImVec2(at.x + ui.px(2), max.y - ui.px(2)), ImVec2(max.x - ui.px(2), max.y), ui.colors().line, ui.px(1));
    draw_text_in(list, font, at, ImVec2(max.x, max.y - ui.px(1)), ImVec2(0.5f, 0.5f), ui.colors().text, key);
    return size.x;
}

bool status_badge(const Ui& ui, const char* id, Color spot, std::string_view text, std::string_view detail, std::string_view tooltip) {
    const float dot = ui.px(9), between = ui.px(8);
    const float text_w = text_width(ui.fonts().label, text), detail_w = text_width(ui.fonts().mono_small, detail);
    const float width = dot + between + text_w + (detail.empty() ? 0 : between + detail_w);
    const Item item = begin_item(ui, id, ImVec2(width, ui.px(30)), {.tooltip = tooltip});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float middle = (item.min.y + item.max.y) / 2;
    if (text.empty() && spot == ui.colors().good) draw_icon(list, Icon::Check, ImVec2(item.min.x + dot / 2, middle), ui.px(13), spot);
    else list.AddCircleFilled(ImVec2(item.min.x + dot / 2, middle), dot / 2, spot, 20);
    const float baseline = std::round(middle - font_size(ui.fonts().label) / 2 + font_ascent(ui.fonts().label));
    draw_text_on(list, ui.fonts().label, item.min.x + dot + between, baseline, item.hovered ? ui.colors().text : ui.colors().muted, text);
    draw_text_on(list, ui.fonts().mono_small, item.max.x - detail_w, baseline, ui.colors().muted, detail);
    draw_focus_ring(ui, item, ui.px(4));
    return item.pressed;
}

void progress_bar(const Ui& ui, float fraction, float width) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float length = width > 0 ? ui.px(width) : ImGui::GetContentRegionAvail().x, height = ui.px(6);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(at, ImVec2(at.x + length, at.y + height), ui.colors().line, height / 2);
    const float done = length * std::clamp(fraction, 0.0f, 1.0f);
    if (done > 0) list.AddRectFilled(at, ImVec2(at.x + std::max(done, height), at.y + height), ui.colors().accent, height / 2);
    ImGui::Dummy(ImVec2(length, height));
}

namespace {

constexpr float kTooltipPaddingX = 10, kTooltipPaddingY = 8;

void push_tooltip_style(const Ui& ui) {
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(ui.px(kTooltipPaddingX), ui.px(kTooltipPaddingY)));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, ui.px(6));
    ImGui::PushStyleColor(ImGuiCol_PopupBg, ui.colors().raised);
    ImGui::PushStyleColor(ImGuiCol_Border, ui.colors().line);
}

float shared_area(const Box& a, const Box& b) {
    const float wide = std::min(a.max.x, b.max.x) - std::max(a.min.x, b.min.x);
    const float high = std::min(a.max.y, b.max.y) - std::max(a.min.y, b.min.y);
    return wide > 0 && high > 0 ? wide * high : 0;
}

/// How much of what can be clicked, dragged or read a tooltip of this place would hide. What can be used counts more than what is read,
/// and far more if it stands in the tooltip's pane.
float hidden_by(const Ui& ui, const Box& place) {
    constexpr float kUsed = 4, kInPane = 1000;
    const ImVec2 pane = current_pane()->Pos;
    float area = 0;
    if (ui.focus == nullptr) return area;
    const bool in_menu = in_popup();
    for (const FocusStop& stop : ui.focus->stops()) {
        if (stop.in_popup != in_menu || !stop.reachable) continue;
        const float hidden = shared_area(place, {{stop.left, stop.top}, {stop.right, stop.bottom}});
        area += hidden * (stop.pane.x == pane.x && stop.pane.y == pane.y ? kInPane : kUsed);
    }
    for (const Box& read : ui.focus->read()) area += shared_area(place, read);
    return area;
}

/// Where a tooltip may stand beside the last item, the most natural place first: beside a narrow pane or a menu, which it then hides
/// nothing of, also somewhat higher or lower; below or, at the foot of the window, above the item; beside the item; above or below the
/// pane.
std::array<ImVec2, 12> tooltip_corners(const Ui& ui, ImVec2 size) {
    constexpr float kAway = 6, kNarrow = 0.4F, kFoot = 0.75F;
    const ImVec2 display = ImGui::GetIO().DisplaySize, min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
    const ImGuiWindow* const pane = current_pane();
    const float away = ui.px(kAway), x = std::max(0.0f, std::min(min.x, display.x - size.x));
    const bool low = max.y > kFoot * display.y, narrow = pane->Size.x < kNarrow * display.x;
    const float level = low ? max.y - size.y : min.y;
    const ImVec2 below{x, max.y + away}, above{x, min.y - away - size.y}, right{max.x + away, level}, left{min.x - away - size.x, level};
    const ImVec2 first = low ? above : below, second = low ? below : above;
    const float after = pane->Pos.x + pane->Size.x + away, before = pane->Pos.x - away - size.x;
    const auto beside_pane = [&](float edge, float y) { return narrow ? ImVec2{edge, y} : first; };
    const ImVec2 above_pane{x, pane->Pos.y - away - size.y}, below_pane{x, pane->Pos.y + pane->Size.y + away};
    return {beside_pane(after, level),
            beside_pane(before, level),
            beside_pane(after, below.y),
            beside_pane(before, below.y),
            beside_pane(after, above.y),
            beside_pane(before, above.y),
            first,
            second,
            right,
            left,
            above_pane,
            below_pane};
}

/// Places the next tooltip, of this size, where it hides as little as possible of what can be used or read.
void place_tooltip(const Ui& ui, ImVec2 size) {
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    std::optional<ImVec2> best;
    float least = std::numeric_limits<float>::max();
    for (const ImVec2 corner : tooltip_corners(ui, size)) {
        const Box place{corner, {corner.x + size.x, corner.y + size.y}};
        if (place.min.x < 0 || place.min.y < 0 || place.max.x > display.x || place.max.y > display.y) continue;
        if (const float hidden = hidden_by(ui, place); hidden < least) {
            least = hidden;
            best = corner;
        }
    }
    if (best) ImGui::SetNextWindowPos(*best, ImGuiCond_Always);
}

void pop_tooltip_style() {
    ImGui::PopStyleColor(2);
    ImGui::PopStyleVar(2);
}

}  // namespace

void begin_tooltip(const Ui& ui) {
    const bool unwanted = behind_sheet() || (ui.focus != nullptr && !ui.focus->points());
    push_tooltip_style(ui);
    ImGui::BeginTooltip();
    if (unwanted) hide_current_window();
}

void begin_tooltip_beside(const Ui& ui) {
    // Its size is known from the frame before; in the first one, ImGui does not show it.
    if (const ImGuiWindow* const before = ImGui::FindWindowByName("##Tooltip_00"); before != nullptr && before->WasActive)
        place_tooltip(ui, before->Size);
    begin_tooltip(ui);
}

void end_tooltip() {
    ImGui::EndTooltip();
    pop_tooltip_style();
}

void begin_tooltip_of_focus(const Ui& ui) {
    push_tooltip_style(ui);
    ImGui::Begin("##focused", nullptr,
                 ImGuiWindowFlags_Tooltip | ImGuiWindowFlags_NoInputs | ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_AlwaysAutoResize);
}

void end_tooltip_of_focus() {
    ImGui::End();
    pop_tooltip_style();
}

double seconds_until_tooltip() {
    const float rested = hovered_seconds();
    return something_is_hovered() && rested < kTooltipDelay ? static_cast<double>(kTooltipDelay - rested)
                                                            : std::numeric_limits<double>::infinity();
}

void fade_scrolled_edges(const Ui& ui, const FadedEdges& edges) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 low = list.GetClipRectMin(), high = list.GetClipRectMax();
    const Color solid = ui.colors().pane, none = with_alpha(solid, 0);
    const float depth = ui.px(edges.depth), inset = ui.px(edges.inset);
    const float wide = std::min(depth, (high.x - low.x) / 4), tall = std::min(depth, (high.y - low.y) / 4);
    // What is scrolled by less than the depth fades less.
    const auto cover = [&](float hidden) { return with_alpha(solid, std::clamp(hidden / depth, 0.f, 1.f)); };
    const float above = ImGui::GetScrollY(), below = ImGui::GetScrollMaxY() - above;
    const float before = ImGui::GetScrollX(), after = ImGui::GetScrollMaxX() - before;
    const float x0 = low.x + inset, x1 = high.x - inset;
    if (above > 0) list.AddRectFilledMultiColor({x0, low.y}, {x1, low.y + tall}, cover(above), cover(above), none, none);
    if (below > 0) list.AddRectFilledMultiColor({x0, high.y - tall}, {x1, high.y}, none, none, cover(below), cover(below));
    if (!edges.sideways) return;
    if (before > 0) list.AddRectFilledMultiColor(low, {low.x + wide, high.y}, cover(before), none, none, cover(before));
    if (after > 0) list.AddRectFilledMultiColor({high.x - wide, low.y}, high, none, cover(after), cover(after), none);
}

void tooltip_for_last(const Ui& ui, std::string_view text) {
    if (text.empty() || !ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) return;
    // A user who has clicked knows the control and wants to see what the click did.
    if (hovered_seconds() < kTooltipDelay || behind_sheet() || clicked_while_hovered()) return;
    const float width = std::min(text_width(ui.fonts().label, text), ui.px(kTooltipWidth));
    const float beside = ui.px(2 * kTooltipPaddingX), above = ui.px(2 * kTooltipPaddingY);
    place_tooltip(ui, {width + beside + 2, wrapped_height(ui.fonts().label, width + 1, text) + above + 2});
    begin_tooltip(ui);
    paragraph(ui, ui.fonts().label, ui.colors().text, text, (width + 1) / ui.theme.scale);
    end_tooltip();
}

}  // namespace attn::app
