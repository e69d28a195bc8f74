#include "app/panels/mistakes.hpp"

#include <string>

#include "app/panels/edits.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {

void set_mistake(PanelContext& context, Mistake mistake) {
    ForwardSettings forward = context.document.forward;
    forward.mistake = mistake;
    emit_forward(context, std::move(forward), "");
    Comparison& compare = context.view.compare;
    if (mistake != Mistake::None) compare.choose(Compare::Correct);
    else if (compare.source == Compare::Correct) compare.choose(Compare::Off);
}

void draw_mistake_settings(PanelContext& context) {
    const Ui ui = context.ui();
    section_heading(ui, "Break it on purpose");
    const Mistake now = context.document.forward.mistake;
    for (const MistakeInfo& info : mistakes()) {
        const std::string label = std::string(info.title) + "##mistake";
        const bool on = info.mistake == now;
        if (button(ui, label.c_str(), {.width = -1, .height = 26, .active = on, .notes = {.tooltip = info.look}}))
            set_mistake(context, on ? Mistake::None : info.mistake);
    }
    gap(ui, 4);
    paragraph(ui, context.theme.fonts.label, context.theme.colors.faint,
              now == Mistake::None ? "Each makes one classic mistake and shows it beside the right computation."
                                   : std::string("Look for this: ") + std::string(mistake_info(now).look));
}

void draw_training_mistake(PanelContext& context) {
    const Ui ui = context.ui();
    const Mistake now = context.document.run.train.forward.mistake;
    const auto choose = [&](Mistake mistake) {
        RunSettings run = context.document.run;
        run.train.forward.mistake = mistake;
        emit_run(context, std::move(run), "");
    };
    text_line(ui, context.theme.fonts.label, context.theme.colors.text, "mistake");
    if (begin_menu_button(ui, "##training_mistake", now == Mistake::None ? "none" : mistake_info(now).title, -1,
                          {.tooltip = "Makes a classic mistake in every step. Begin a new run with the same seed to see its curve beside "
                                      "that of the right one."})) {
        if (menu_item(ui, "none", now == Mistake::None, "The run is right.")) choose(Mistake::None);
        for (const MistakeInfo& info : mistakes())
            if (menu_item(ui, info.title, info.mistake == now, info.look)) choose(info.mistake);
        end_menu_button();
    }
    if (now != Mistake::None)
        paragraph(ui, context.theme.fonts.label, context.theme.colors.bad,
                  "Broken on purpose: " + std::string(mistake_info(now).words) + ".");
    gap(ui, 6);
}

void draw_mistake_sign(PanelContext& context) {
    const Mistake mistake = context.document.forward.mistake;
    if (mistake == Mistake::None) return;
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, height = context.px(32), button_width = 72;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(at, {at.x + width, at.y + height}, with_alpha(colors.bad, 0.14F), context.px(6));
    list.AddRect(at, {at.x + width, at.y + height}, colors.bad, context.px(6));
    const MistakeInfo& info = mistake_info(mistake);
    const std::string text = "Broken on purpose: " + std::string(info.words) + ".";
    draw_text(list, fonts.label, {at.x + context.px(10), at.y + context.px(8)}, colors.text,
              elide(fonts.label, text, width - context.px(button_width + 24)));
    ImGui::SetCursorScreenPos({at.x + width - context.px(button_width + 4), at.y + context.px(3)});
    if (button(context.ui(), "repair", {.width = button_width, .height = 26, .notes = {.tooltip = "Computes it right again."}}))
        set_mistake(context, Mistake::None);
    ImGui::SetCursorScreenPos({at.x, at.y + height + context.px(10)});
}

}  // namespace attn::app
