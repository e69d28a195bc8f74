#include "app/panels/kit/stage_card.hpp"

#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {

StageCard draw_stage_card(PanelContext& context, const char* id, std::size_t index, ImVec2 at, ImVec2 size, bool current,
                          std::string_view title, const std::string& tooltip) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 end{at.x + size.x - context.px(6), at.y + size.y};
    ImGui::SetCursorScreenPos(at);
    ImGui::PushID(static_cast<int>(index));
    const Item item = begin_item(context.ui(), id, {end.x - at.x, size.y}, {.tooltip = tooltip});
    ImGui::PopID();

    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_focus_ring(context.ui(), item, context.px(6));
    if (current || item.hovered) list.AddRectFilled(at, end, colors.raised, context.px(8));
    if (current) list.AddRect(at, end, colors.accent, context.px(8), 0, context.px(2));

    const float line = context.px(15);
    StageCard card{.pressed = item.pressed, .x = at.x + context.px(9), .bottom = end.y, .ink = current ? colors.text : colors.muted};
    card.width = end.x - card.x - context.px(4);
    card.picture_min = {card.x, at.y + context.px(7) + line};
    card.picture_max = {end.x - context.px(6), end.y - 2 * line - context.px(8)};
    if (card.picture_max.y - card.picture_min.y <= context.px(12)) card.picture_max = card.picture_min;
    ImFont* font = text_width(fonts.strong, title) <= card.width ? fonts.strong : fonts.label;
    draw_text(list, font, {card.x, at.y + context.px(4)}, card.ink, elide(font, title, card.width));
    return card;
}

}  // namespace attn::app
