#pragma once
/// An area that scrolls on its own, without border or background.

#include <imgui.h>

#include "app/widgets/controls.hpp"
#include "app/widgets/ui.hpp"

namespace attn::app {

struct ScrolledLook {
    int flags = 0;       ///< ImGuiWindowFlags besides NoNav
    bool padded = true;  ///< false: the contents begin at its edge
    FadedEdges edges{};  ///< how its edges fade where more follows
    bool fades = true;
};

/// From here to the end of the block.
class Scrolled {
public:
    Scrolled(const Ui& ui, const char* id, ImVec2 size, const ScrolledLook& look = {}) : ui_(ui), look_(look) {
        ImGui::PushStyleColor(ImGuiCol_ChildBg, IM_COL32(0, 0, 0, 0));
        if (!look.padded) ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
        ImGui::BeginChild(id, size, false, look.flags | ImGuiWindowFlags_NoNav);
        if (!look.padded) ImGui::PopStyleVar();
        ImGui::PopStyleColor();
    }
    ~Scrolled() {
        if (look_.fades) fade_scrolled_edges(ui_, look_.edges);
        ImGui::EndChild();
    }
    Scrolled(const Scrolled&) = delete;
    Scrolled& operator=(const Scrolled&) = delete;

private:
    Ui ui_;
    ScrolledLook look_;
};

/// Draws with `draw(context)` what scrolls over this height. Its scrollbar goes into the pane's margin, so that the contents keep their
/// width.
template <class Context>
void draw_scrolled_column(Context& context, const char* id, float height, void (*draw)(Context&)) {
    ImGuiStorage& memory = *ImGui::GetStateStorage();
    const ImGuiID scrolls = ImGui::GetID(id);
    const float width = ImGui::GetContentRegionAvail().x + (memory.GetBool(scrolls) ? ImGui::GetStyle().ScrollbarSize : 0);
    bool has_bar = false;
    {
        const Scrolled scrolled(context.ui(), id, {width, height}, {.padded = false});
        draw(context);
        has_bar = ImGui::GetScrollMaxY() > 0;
    }
    memory.SetBool(scrolls, has_bar);
}

}  // namespace attn::app
