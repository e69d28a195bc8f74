#include "app/widgets/style.hpp"

#include <imgui.h>

namespace attn::app {

namespace {

ImVec4 solid(Color color) { return ImGui::ColorConvertU32ToFloat4(color); }

ImVec4 faded(Color color, float alpha) {
    ImVec4 c = solid(color);
    c.w = alpha;
    return c;
}

void set_colors(ImGuiStyle& style, const Palette& p) {
    ImVec4* c = style.Colors;
    c[ImGuiCol_Text] = solid(p.text);
    c[ImGuiCol_TextDisabled] = solid(p.faint);
    c[ImGuiCol_WindowBg] = solid(p.window);
    c[ImGuiCol_ChildBg] = faded(p.pane, 0);
    c[ImGuiCol_PopupBg] = solid(p.raised);
    c[ImGuiCol_Border] = solid(p.line);
    c[ImGuiCol_BorderShadow] = faded(p.line, 0);
    c[ImGuiCol_FrameBg] = solid(p.raised);
    c[ImGuiCol_FrameBgHovered] = solid(p.line);
    c[ImGuiCol_FrameBgActive] = solid(p.line);
    c[ImGuiCol_TitleBg] = c[ImGuiCol_TitleBgActive] = c[ImGuiCol_TitleBgCollapsed] = solid(p.pane);
    c[ImGuiCol_MenuBarBg] = solid(p.pane);
    c[ImGuiCol_ScrollbarBg] = faded(p.pane, 0);
    c[ImGuiCol_ScrollbarGrab] = solid(p.line);
    c[ImGuiCol_ScrollbarGrabHovered] = c[ImGuiCol_ScrollbarGrabActive] = solid(p.faint);
    c[ImGuiCol_CheckMark] = solid(p.accent);
    c[ImGuiCol_SliderGrab] = c[ImGuiCol_SliderGrabActive] = solid(p.accent);
    c[ImGuiCol_Button] = solid(p.raised);
    c[ImGuiCol_ButtonHovered] = c[ImGuiCol_ButtonActive] = solid(p.line);
    c[ImGuiCol_Header] = faded(p.accent, 0.25F);
    c[ImGuiCol_HeaderHovered] = faded(p.accent, 0.35F);
    c[ImGuiCol_HeaderActive] = faded(p.accent, 0.45F);
    c[ImGuiCol_Separator] = solid(p.line);
    c[ImGuiCol_SeparatorHovered] = c[ImGuiCol_SeparatorActive] = solid(p.accent);
    c[ImGuiCol_ResizeGrip] = faded(p.line, 0);
    c[ImGuiCol_ResizeGripHovered] = c[ImGuiCol_ResizeGripActive] = solid(p.accent);
    c[ImGuiCol_Tab] = c[ImGuiCol_TabUnfocused] = solid(p.pane);
    c[ImGuiCol_TabHovered] = solid(p.line);
    c[ImGuiCol_TabActive] = c[ImGuiCol_TabUnfocusedActive] = solid(p.raised);
    c[ImGuiCol_TextSelectedBg] = faded(p.accent, 0.35F);
    c[ImGuiCol_DragDropTarget] = solid(p.chosen);
    c[ImGuiCol_NavHighlight] = solid(p.accent);
    c[ImGuiCol_NavWindowingHighlight] = solid(p.accent);
    c[ImGuiCol_ModalWindowDimBg] = faded(p.window, 0.6F);
    c[ImGuiCol_TableHeaderBg] = solid(p.raised);
    c[ImGuiCol_TableBorderStrong] = c[ImGuiCol_TableBorderLight] = solid(p.line);
    c[ImGuiCol_TableRowBgAlt] = faded(p.raised, 0.5F);
}

}  // namespace

void apply_style(const Theme& theme) {
    ImGuiStyle style;
    style.WindowPadding = {16, 16};
    style.WindowRounding = style.ChildRounding = style.PopupRounding = 10;
    style.FrameRounding = style.GrabRounding = style.TabRounding = 6;
    style.ScrollbarRounding = 6;
    style.ScrollbarSize = 10;
    style.FramePadding = {10, 5};
    style.ItemSpacing = {8, 8};
    style.ItemInnerSpacing = {6, 6};
    style.WindowBorderSize = style.ChildBorderSize = style.PopupBorderSize = 1;
    style.FrameBorderSize = 0;
    style.WindowMinSize = {16, 16};
    style.ScaleAllSizes(theme.scale);
    set_colors(style, theme.colors);
    ImGui::GetStyle() = style;
}

}  // namespace attn::app
