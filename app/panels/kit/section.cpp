#include "app/panels/kit/section.hpp"

#include "app/widgets/controls.hpp"

namespace attn::app {

bool open_section(PanelContext& context, const char* name, const char* title, const std::string& value, std::string_view about,
                  bool below) {
    auto& folded = context.view.settings.folded;
    const bool open = folded.find(name) == folded.end();
    const std::string label = std::string(title) + "##" + name;
    std::string tooltip = open ? "Click to fold this part." : "Click to open this part.";
    if (!about.empty()) tooltip += " " + std::string(about);
    if (fold_heading(context.ui(), label.c_str(), open, value, {.tooltip = tooltip}, below)) {
        if (open) folded.insert(name);
        else folded.erase(name);
    }
    // Returns the state before this frame's click, which takes effect in the next frame.
    if (open) gap(context.ui(), 6);
    return open;
}

void open_settings_section(ViewState& view, const char* name) {
    view.panes.left_open = true;
    view.panes.only_centre = false;
    view.panes.reveal = name;
    view.settings.search.text.clear();
    if (const auto folded = view.settings.folded.find(name); folded != view.settings.folded.end()) view.settings.folded.erase(folded);
}

}  // namespace attn::app
