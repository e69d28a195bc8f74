#include "app/panels/files/files.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {

bool asks_for_model(const PanelContext& context) {
    return context.files.missing_model.has_value() && context.files.missing_models != context.view.files.models_answered;
}

void draw_missing_model_sheet(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    bool stays = begin_sheet(context, "##missing_model_sheet", 640);
    text_line(ui, fonts.heading, colors.text, "Where is the model of this document?");
    gap(ui, 4);
    paragraph(ui, fonts.body, colors.muted, visible_text(context.files.missing_model->problem, true) + ".");
    gap(ui, 8);
    const bool chooses =
        button(ui, "Choose the model…",
               {.look = ButtonLook::Accent, .notes = {.tooltip = "Its folder or GGUF file; then the document opens (Enter)."}}) ||
        key_pressed(Key::Enter, false);
    ImGui::SameLine(0, context.px(8));
    if (button(ui, "Cancel", {.width = 100, .notes = {.tooltip = "Esc"}}) || key_pressed(Key::Escape, false)) stays = false;
    end_sheet(context);
    if (chooses || !stays) context.view.files.models_answered = context.files.missing_models;
    if (chooses) begin_choosing_model(context);
}

}  // namespace attn::app
