#include "app/panels/kit/pane.hpp"

#include <algorithm>
#include <cmath>

#include "app/widgets/imgui_compat.hpp"

namespace attn::app {
namespace {

float logical_width(const PanelContext& context) { return ImGui::GetIO().DisplaySize.x / context.theme.scale; }

constexpr float kRounding = 10;

/// Fills a card's background. Rounded corners use the draw list; the large rest is filled directly in whole pixels, which is faster.
void fill_card(PanelContext& context, const Box& box, float rounding) {
    const ImU32 color = context.theme.colors.pane;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float corner = std::ceil(rounding), top = box.min.y + corner, bottom = box.max.y - corner;
    if (bottom - top < corner) return list.AddRectFilled(box.min, box.max, color, rounding);
    list.AddRectFilled(box.min, {box.max.x, top}, color, rounding, ImDrawFlags_RoundCornersTop);
    context.canvas.fill(list, {box.min.x, top}, {box.max.x, bottom}, color);
    list.AddRectFilled({box.min.x, bottom}, box.max, color, rounding, ImDrawFlags_RoundCornersBottom);
}

/// Background and border of a drawer, inside its own window: ImGui may draw those of a child window with the parent, below all child
/// windows.
void draw_drawer(PanelContext& context, const Box& box) {
    ImGui::PushClipRect(box.min, box.max, false);
    fill_card(context, box, context.px(kRounding));
    ImGui::GetWindowDrawList()->AddRect(box.min, box.max, context.theme.colors.accent, context.px(kRounding));
    ImGui::PopClipRect();
}

/// Rounded in the same way as ImGui rounds window positions.
Box in_whole_pixels(const Box& box) {
    return {{std::floor(box.min.x), std::floor(box.min.y)},
            {std::floor(box.min.x) + std::floor(box.width()), std::floor(box.min.y) + std::floor(box.height())}};
}

}  // namespace

void pane(PanelContext& context, const char* id, const Box& box, PaneLook look, ImVec2 padding, void (*draw)(PanelContext&), int flags) {
    if (box.width() < 1 || box.height() < 1) return;
    const Palette& colors = context.theme.colors;
    const bool card = look != PaneLook::Bare;
    if (card) fill_card(context, in_whole_pixels(box), context.px(kRounding));
    ImGui::SetCursorScreenPos(box.min);
    ImGui::PushStyleVar(ImGuiStyleVar_ChildRounding, card ? context.px(kRounding) : 0);
    ImGui::PushStyleVar(ImGuiStyleVar_ChildBorderSize, card ? 1.F : 0.F);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {context.px(padding.x), context.px(padding.y)});
    ImGui::PushStyleColor(ImGuiCol_ChildBg, IM_COL32(0, 0, 0, 0));
    ImGui::PushStyleColor(ImGuiCol_Border, look == PaneLook::Drawer ? colors.accent : colors.line);
    const bool visible =
        ImGui::BeginChild(id, {box.width(), box.height()}, card, flags | ImGuiWindowFlags_NoNav | ImGuiWindowFlags_AlwaysUseWindowPadding);
    ImGui::PopStyleColor(2);
    ImGui::PopStyleVar(3);
    if (visible && look == PaneLook::Drawer) draw_drawer(context, in_whole_pixels(box));
    if (visible) draw(context);
    if (visible && scroll_bar_is_to_change()) context.view.drawn.settles = true;
    if (visible && card) fade_scrolled_edges(context.ui(), {.inset = 2});  // the padding leaves room for the rounding already
    ImGui::EndChild();
}

void toggle_map(PanelContext& context) {
    PaneState& panes = context.view.panes;
    panes.map = !opens_map(panes, ImGui::GetIO().DisplaySize.y / context.theme.scale);
    panes.strip = true;
}

void toggle_left_pane(PanelContext& context) {
    PaneState& panes = context.view.panes;
    if (!folds_left(logical_width(context)) || !panes.left) panes.left = !panes.left;
    else panes.left_open = !panes.left_open;
}

void toggle_right_pane(PanelContext& context) {
    PaneState& panes = context.view.panes;
    if (!folds_right(logical_width(context)) || !panes.right) panes.right = !panes.right;
    else panes.right_open = !panes.right_open;
}

}  // namespace attn::app
