#include <fmt/format.h>

#include "app/panels/files/files.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {

bool asks_about_replacing(const PanelContext& context) {
    return context.files.in_the_way.has_value() && context.files.ways != context.view.files.ways_answered;
}

void draw_replace_sheet(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const InTheWay& way = *context.files.in_the_way;
    begin_modal_sheet(context, "##replace_sheet", 560);
    text_line(ui, fonts.heading, colors.text, way.changed ? "Changed by another program" : "Replace what is there?");
    gap(ui, 4);
    const std::string path = visible_text(way.path.string(), true);
    const std::string_view why = way.changed        ? "has changed since it was opened or saved here. Saving would replace those changes."
                                 : way.is_other_run ? "is another run, which was opened or saved here. Saving would replace it."
                                                    : "was not opened or saved here. Saving would replace it.";
    paragraph(ui, fonts.body, colors.muted, fmt::format("{} {}", path, why));
    gap(ui, 8);
    bool answered = true;
    if (button(ui, "Save as…", {.look = ButtonLook::Accent, .notes = {.tooltip = "Leaves it as it is (Enter)."}}) ||
        key_pressed(Key::Enter, false)) {
        const auto* run = std::get_if<command::SaveRun>(&way.again->what);
        if (run != nullptr) begin_save_run(context, run->run, true);
        else begin_save(context, true);
    } else if (ImGui::SameLine(0, context.px(8)); button(ui, "Replace", {.notes = {.tooltip = "What is there now is lost."}})) {
        context.commands.push_back(*way.again);
    } else if (ImGui::SameLine(0, context.px(8));
               !button(ui, "Cancel", {.width = 100, .notes = {.tooltip = "Esc"}}) && !key_pressed(Key::Escape, false)) {
        answered = false;
    }
    end_sheet(context);
    if (answered) context.view.files.ways_answered = context.files.ways;
}

}  // namespace attn::app
