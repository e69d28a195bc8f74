#include "app/panels/section.hpp"

#include "app/widgets/controls.hpp"

namespace attn::app {

bool open_section(PanelContext& context, const char* name, const char* title, const std::string& value) {
    auto& folded = context.view.folded;
    const bool open = folded.find(name) == folded.end();
    const std::string label = std::string(title) + "##" + name;
    if (fold_heading(context.ui(), label.c_str(), open, value,
                     {.tooltip = open ? "Click to fold this part." : "Click to open this part."})) {
        if (open) folded.insert(name);
        else folded.erase(name);
    }
    // As it was: what is pressed in a frame changes the next one.
    if (open) gap(context.ui(), 6);
    return open;
}

}  // namespace attn::app
