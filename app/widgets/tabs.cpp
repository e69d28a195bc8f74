#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kTabPadding = 17;

}  // namespace

/// Measured in the selected (bold) state, so that selecting another tab moves nothing.
float tab_width(const Ui& ui, std::string_view name) { return text_width(ui.fonts().strong, name) + 2 * ui.px(kTabPadding); }

bool tab(const Ui& ui, std::string_view name, bool active, float height, std::string_view tooltip) {
    const Palette& c = ui.colors();
    ImGui::PushID(name.data(), name.data() + name.size());
    const Item item = begin_item(ui, "tab", ImVec2(tab_width(ui, name), ui.px(height)), {.tooltip = tooltip, .words = name});
    ImGui::PopID();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text_in(list, active ? ui.fonts().strong : ui.fonts().body, item.min, item.max, ImVec2(0.5f, 0.5f),
                 active || item.hovered ? c.text : c.muted, name);
    if (active)
        list.AddRectFilled(ImVec2(item.min.x + ui.px(kTabPadding - 5), item.max.y - ui.px(3)),
                           ImVec2(item.max.x - ui.px(kTabPadding - 5), item.max.y), c.accent, ui.px(1.5f));
    draw_focus_ring(ui, item, ui.px(4));
    return item.pressed;
}

}  // namespace attn::app
