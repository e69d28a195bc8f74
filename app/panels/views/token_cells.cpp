#include "app/panels/views/token_cells.hpp"

#include <utility>

#include "app/widgets/text.hpp"

namespace attn::app {

void draw_cell_text(const PanelContext& context, ImVec2 min, ImVec2 max, std::string_view shown, Color ink, bool small) {
    const Fonts& fonts = context.theme.fonts;
    ImFont* font = small ? fonts.mono_small : fonts.mono_body;
    if (text_width(font, shown) > max.x - min.x)
        font = text_width(fonts.mono_small, shown) <= max.x - min.x ? fonts.mono_small : fonts.mono_tiny;
    draw_text_in(*ImGui::GetWindowDrawList(), font, min, max, {0.5F, 0.5F}, ink, elide(font, shown, max.x - min.x));
}

float needed(const PanelContext& context, const ImFont* font, std::string_view text) { return text_width(font, text) + context.px(8); }

bool looks_elsewhere(int now) {
    int& before = *ImGui::GetStateStorage()->GetIntRef(ImGui::GetID("looked_at"), -1);
    return std::exchange(before, now) != now;
}

}  // namespace attn::app
