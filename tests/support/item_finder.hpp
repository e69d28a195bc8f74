#pragma once
/// Locates a control on screen by moving the mouse until ImGui reports that it is hovered.

#include <imgui.h>
#include <imgui_internal.h>

#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace attn::app::test {

/// The open child window whose name contains `part` ("##run"), nullptr if none.
inline ImGuiWindow* find_window(std::string_view part) {
    for (ImGuiWindow* window : ImGui::GetCurrentContext()->Windows)
        if (window->WasActive && std::string_view(window->Name).find(part) != std::string_view::npos &&
            std::string_view(window->Name).substr(std::string_view(window->Name).rfind('/') + 1).find(part) == 0)
            return window;
    return nullptr;
}

/// Moves the mouse over the window, drawing frames with `draw`, until the item with this id path is hovered.
inline std::optional<ImVec2> find_item(std::string_view window_part, std::initializer_list<const char*> path,
                                       const std::function<void(float, float)>& hover, float step_x = 16, float step_y = 7) {
    const ImGuiWindow* window = find_window(window_part);
    if (window == nullptr) return std::nullopt;
    ImGuiID id = window->ID;
    for (const char* part : path) id = ImHashStr(part, 0, id);
    const ImRect area = window->ClipRect;
    const int columns = static_cast<int>((area.GetWidth() - 5) / step_x) + 1, rows = static_cast<int>((area.GetHeight() - 3) / step_y) + 1;
    // Ever finer grids, because most controls are larger than a step.
    for (const int stride : {4, 2, 1})
        for (int row = 0; row < rows; row += stride)
            for (int column = 0; column < columns; column += stride) {
                if (stride < 4 && row % (2 * stride) == 0 && column % (2 * stride) == 0) continue;  // on the grid before
                const float x = area.Min.x + 5 + step_x * static_cast<float>(column), y = area.Min.y + 3 + step_y * static_cast<float>(row);
                if (x >= area.Max.x || y >= area.Max.y) continue;
                hover(x, y);
                if (ImGui::GetCurrentContext()->HoveredIdPreviousFrame == id || ImGui::GetCurrentContext()->HoveredId == id)
                    return ImVec2(x, y);
            }
    return std::nullopt;
}

}  // namespace attn::app::test
