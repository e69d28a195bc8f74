#include "app/panels/views/look_at_line.hpp"

#include "app/session/presets.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kLowWindow = 680;

}  // namespace

float draw_look_at(const PanelContext& context, ImVec2 bottom_left, float width) {
    const std::string_view sentence = look_at(context.document);
    if (sentence.empty() || context.view.lesson.open()) return 0;  // a lesson says itself what to look at
    const auto& [colors, fonts, scale] = context.theme;
    if (ImGui::GetIO().DisplaySize.y < context.px(kLowWindow)) {
        // The picture needs the line: the eye alone, in the corner.
        const float side = context.px(20);
        const Item eye =
            item_at(context.ui(), "##look_at", {bottom_left.x - context.px(2), bottom_left.y - side}, {side, side}, {.tooltip = sentence});
        draw_icon(*ImGui::GetWindowDrawList(), Icon::Eye, {eye.min.x + side / 2, eye.min.y + side / 2}, context.px(14), colors.accent);
        draw_focus_ring(context.ui(), eye, context.px(4));
        return 0;
    }
    const float indent = context.px(26), height = wrapped_height(fonts.label, width - indent, sentence);
    const ImVec2 at{bottom_left.x, bottom_left.y - height};
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_icon(list, Icon::Eye, {at.x + context.px(8), at.y + context.px(8)}, context.px(14), colors.accent);
    draw_text_wrapped(list, fonts.label, {at.x + indent, at.y}, width - indent, colors.muted, sentence);
    return height + context.px(10);
}

}  // namespace attn::app
