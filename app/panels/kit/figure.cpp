#include "app/panels/kit/figure.hpp"

#include <cmath>

#include "app/panels/kit/notice_place.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/value_bar.hpp"

namespace attn::app {

void draw_view_heading(const PanelContext& context, ImVec2 at, float right, std::string_view title, std::string_view detail) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text(list, fonts.heading, at, colors.text, title);
    const float x = at.x + text_width(fonts.heading, title) + context.px(12);
    context.view.focus.note_read({at, {x, at.y + font_size(fonts.heading)}});
    if (leaves_to_notice(context, {{x, at.y}, {right, at.y + context.px(kNoticeLine)}})) return;
    draw_text(list, fonts.label, {x, at.y + context.px(9)}, colors.muted, elide_parts(fonts.label, detail, right - x));
}

FigureBar bar_of_figure(const PanelContext& context, ImVec2 at, float width, const FigureLook& look) {
    return {{at.x + context.px(look.label), at.y + context.px(3)}, {at.x + width - context.px(look.number), at.y + context.px(14)}};
}

void draw_figure(const PanelContext& context, ImVec2 at, float width, const Figure& figure, const FigureLook& look) {
    constexpr float kBeforeBar = 8, kBeforeLabel = 10, kHigh = 16;
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const FigureBar bar = bar_of_figure(context, at, width, look);
    const float bottom = at.y + context.px(kHigh);
    draw_text_in(list, fonts.mono_small, at, {bar.min.x - context.px(kBeforeBar), bottom}, {1, 0}, figure.ink,
                 elide(fonts.mono_small, figure.label, context.px(look.label - kBeforeLabel)));
    if (std::isfinite(figure.share)) value_bar(list, bar.min, bar.max, figure.share, figure.fill, context.px(2));
    draw_text_in(list, fonts.mono_small, {bar.max.x, at.y}, {at.x + width, bottom}, {1, 0}, colors.text, figure.number);
}

}  // namespace attn::app
