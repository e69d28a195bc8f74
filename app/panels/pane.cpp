#include "app/panels/pane.hpp"

namespace attn::app {

void pane(PanelContext& context, const char* id, const Box& box, PaneLook look, ImVec2 padding, void (*draw)(PanelContext&), int flags) {
    if (box.width() < 1 || box.height() < 1) return;
    const Palette& colors = context.theme.colors;
    const bool card = look != PaneLook::Bare;
    ImGui::SetCursorScreenPos(box.min);
    ImGui::PushStyleVar(ImGuiStyleVar_ChildRounding, card ? context.px(10) : 0);
    ImGui::PushStyleVar(ImGuiStyleVar_ChildBorderSize, card ? 1.F : 0.F);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {context.px(padding.x), context.px(padding.y)});
    ImGui::PushStyleColor(ImGuiCol_ChildBg, card ? colors.pane : IM_COL32(0, 0, 0, 0));
    ImGui::PushStyleColor(ImGuiCol_Border, look == PaneLook::Drawer ? colors.accent : colors.line);
    const bool visible =
        ImGui::BeginChild(id, {box.width(), box.height()}, card, flags | ImGuiWindowFlags_NoNav | ImGuiWindowFlags_AlwaysUseWindowPadding);
    ImGui::PopStyleColor(2);
    ImGui::PopStyleVar(3);
    if (visible) draw(context);
    ImGui::EndChild();
}

}  // namespace attn::app
