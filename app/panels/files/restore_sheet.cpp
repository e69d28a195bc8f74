#include <fmt/format.h>

#include <ctime>

#include "app/panels/files/files.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

/// Such as "22 November 2026, 14:03", in local time.
std::string date_words(std::int64_t seconds) {
    const auto time = static_cast<std::time_t>(seconds);
    std::tm local{};
    if (::localtime_r(&time, &local) == nullptr) return "an unknown time";
    static constexpr const char* kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                              "July",    "August",   "September", "October", "November", "December"};
    return fmt::format("{} {} {}, {:02}:{:02}", local.tm_mday, kMonths[local.tm_mon], local.tm_year + 1900, local.tm_hour, local.tm_min);
}

void part(const PanelContext& context, std::string_view what, const std::string& words) {
    if (words.empty()) return;
    const auto& [colors, fonts, scale] = context.theme;
    text_line(context.ui(), fonts.label, colors.muted, what);
    text_line(context.ui(), fonts.body, colors.text, elide(fonts.body, visible_text(words, true), ImGui::GetContentRegionAvail().x));
    gap(context.ui(), 6);
}

}  // namespace

bool asks_to_restore(const PanelContext& context) { return context.leftover != nullptr && !context.view.files.restore_later; }

void draw_restore_sheet(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    RestoreAnswer& answer = context.view.files.restore;
    begin_modal_sheet(context, "##restore_sheet", 520);
    text_line(ui, fonts.heading, colors.text, "Restore?");
    gap(ui, 4);
    paragraph(ui, fonts.body, colors.muted,
              fmt::format("attnscope did not close properly. Unsaved work, as of {}:", date_words(context.leftover->written_at)));
    gap(ui, 8);
    part(context, "Document", context.leftover->document);
    part(context, "Training run", context.leftover->run);
    gap(ui, 6);
    if (button(ui, "Restore",
               {.look = ButtonLook::Accent, .width = 120, .notes = {.tooltip = "Undo returns to what is shown now (Enter)."}}) ||
        key_pressed(Key::Enter, false))
        answer = RestoreAnswer::Restore;
    ImGui::SameLine(0, context.px(8));
    if (button(ui, "Discard", {.width = 100, .notes = {.tooltip = "Deletes it."}})) answer = RestoreAnswer::Discard;
    ImGui::SameLine(0, context.px(8));
    if (button(ui, "Later", {.width = 100, .notes = {.tooltip = "Asks again next time; until then Ctrl + K finds it (Esc)."}}) ||
        key_pressed(Key::Escape, false))
        context.view.files.restore_later = true;
    end_sheet(context);
}

}  // namespace attn::app
