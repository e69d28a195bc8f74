#include <algorithm>

#include "app/panels/files/files.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {

void begin_modal_sheet(const PanelContext& context, const char* id, float logical_width) {
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
    ImGui::PushStyleColor(ImGuiCol_WindowBg, with_alpha(context.theme.colors.window, 0.6F));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
    // It takes the mouse from everything below the sheet.
    ImGui::Begin("##veil", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav);
    ImGui::End();
    ImGui::PopStyleVar(2);
    ImGui::PopStyleColor();
    begin_sheet(context, id, logical_width);
}

bool begin_sheet(const PanelContext& context, const char* id, float logical_width) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    const float width = std::min(context.px(logical_width), display.x - context.px(40));
    // It stays where it is as long as there is room for what comes below; then it goes up, and last it scrolls.
    const float margin = context.px(20), lowest = display.y - margin - last_height(id);
    ImGui::SetNextWindowPos({(display.x - width) / 2, std::max(std::min(display.y * 0.14F, lowest), margin)});
    ImGui::SetNextWindowSize({width, 0});
    ImGui::SetNextWindowSizeConstraints({width, 0}, {width, display.y - 2 * margin});
    ImGui::SetNextWindowFocus();
    ImGui::PushStyleColor(ImGuiCol_WindowBg, colors.pane);
    ImGui::PushStyleColor(ImGuiCol_Border, colors.accent);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, context.px(10));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {context.px(24), context.px(18)});
    // With ImGui's own navigation, so that Tab goes from field to field.
    ImGui::Begin(id, nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                     ImGuiWindowFlags_AlwaysAutoResize);
    ImGui::PopStyleVar(2);
    ImGui::PopStyleColor(2);
    return !(ImGui::IsMouseClicked(0) && !ImGui::IsWindowHovered(ImGuiHoveredFlags_RootAndChildWindows) && !ImGui::IsWindowAppearing());
}

void end_sheet(PanelContext& context) {
    draw_notice_in_sheet(context);
    ImGui::End();
}

}  // namespace attn::app
