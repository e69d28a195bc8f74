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

}  // namespace attn::app
