#include "app/panels/maps/gradients.hpp"

#include "app/session/values/gradients.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {

std::string_view no_gradients(const PanelContext& context) {
    if (context.view.compare.on()) return "A comparison shows values. End it (key B) to see gradients.";
    return context.structure().config.lm_head ? "" : "Without an output head the model predicts nothing, so there is no loss.";
}

bool shows_gradients(const PanelContext& context) {
    return context.wants_gradients() && context.ready() && context.ask(facet::Gradients{});
}

std::string missing_gradients(const PanelContext& context) {
    if (!context.wants_gradients() || !context.ready()) return "";
    const Answer<facet::Gradients> gradients = context.ask(facet::Gradients{});
    if (gradients) return "";
    return gradients.computing() ? "Values are shown while the gradients are being computed."
                                 : "Values are shown, as there are no gradients: " + gradients.problem + ".";
}

void toggle_gradients(PanelContext& context) {
    if (const std::string_view why = no_gradients(context); !why.empty())
        context.commands.push_back({command::TellFile{std::string(why), false}, ""});
    else context.view.gradients = !context.view.gradients;
}

float draw_gradient_chip(PanelContext& context, float right, float y) {
    if (!context.wants_gradients()) return 0;
    const auto& [colors, fonts, scale] = context.theme;
    constexpr std::string_view kWords = "gradients";
    const float height = context.px(28), width = text_width(fonts.label, kWords) + context.px(44);
    const Item item = item_at(context.ui(), "##gradients", {right - width, y + context.px(2)}, {width, height},
                              {.tooltip = "The maps show gradients of the loss. Click for the numbers themselves (D).", .words = kWords});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(item.min, item.max, item.hovered ? colors.raised : colors.pane, height / 2);
    list.AddRect(item.min, item.max, colors.chosen, height / 2, 0, context.px(1.5F));
    draw_text_in(list, fonts.label, {item.min.x + context.px(12), item.min.y}, item.max, {0, 0.5F}, colors.text, kWords);
    draw_icon(list, Icon::Close, {item.max.x - context.px(15), (item.min.y + item.max.y) / 2}, context.px(9), colors.muted);
    draw_focus_ring(context.ui(), item, height / 2);
    if (item.pressed) context.view.gradients = false;
    return width;
}

}  // namespace attn::app
