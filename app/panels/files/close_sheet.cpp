#include <fmt/format.h>

#include <algorithm>

#include "app/panels/files/desktop_sheet.hpp"
#include "app/panels/files/files.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

std::string document_words(const PanelContext& context) {
    const std::string name = visible_text(context.files.document.filename().string());
    return name.empty() ? "The document has changes that are not saved." : fmt::format("\"{}\" has changes that are not saved.", name);
}

std::string run_words(const PanelContext& context) {
    const TrainingSnapshot& run = *context.training.snapshot;
    if (run.phase == TrainingPhase::Running) return fmt::format("A training run is in progress, at step {}. It is not saved.", run.step);
    return fmt::format("The training run, at step {}, is not saved.", run.step);
}

std::string left_words(const PanelContext& context) {
    return fmt::format("\"{}\", which was open before, has changes that are not saved.",
                       visible_text(context.files.left_document.filename().string()));
}

std::string earlier_words(const PanelContext& context) {
    const auto& kept = context.training.snapshot->kept;
    const auto count = std::count_if(kept.begin(), kept.end(), [](const KeptRun& run) { return run.unsaved(); });
    return count == 1 ? std::string("An earlier training run is not saved: go back to it in the Train view to save it.")
                      : fmt::format("{} earlier training runs are not saved: go back to them in the Train view to save them.", count);
}

void begin_saving(PanelContext& context) {
    context.view.files.closing = Closing::Saving;
    context.view.files.closing_part = ClosingPart::None;
    // Otherwise the run would continue past the saved state.
    if (context.would_be_lost.run && context.training.snapshot->phase == TrainingPhase::Running)
        context.commands.push_back({command::PauseTraining{}, ""});
}

void draw_question(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    FileView& view = context.view.files;
    begin_modal_sheet(context, "##close_sheet", 520);
    text_line(ui, fonts.heading, colors.text, "Close attnscope?");
    gap(ui, 6);
    if (context.would_be_lost.document) paragraph(ui, fonts.body, colors.text, document_words(context));
    if (context.would_be_lost.run) paragraph(ui, fonts.body, colors.text, run_words(context));
    if (context.would_be_lost.earlier_document) paragraph(ui, fonts.body, colors.text, left_words(context));
    if (context.would_be_lost.earlier_runs) paragraph(ui, fonts.body, colors.text, earlier_words(context));
    gap(ui, 10);
    const bool saves = context.would_be_lost.document || context.would_be_lost.run;
    const bool goes_back = !saves && context.would_be_lost.earlier_document;
    const char* tooltip = saves       ? "Asks for a name if there is none yet (Enter)."
                          : goes_back ? "Undoes what was opened since (Enter)."
                                      : "Goes to the Train view, where earlier runs are listed (Enter).";
    const char* label = saves ? "Save and close##save" : goes_back ? "Go back to it##save" : "Show the runs##save";
    if (button(ui, label, {.look = ButtonLook::Accent, .notes = {.tooltip = tooltip}}) || key_pressed(Key::Enter, false))
        begin_saving(context);
    ImGui::SameLine(0, context.px(8));
    if (button(ui, "Close without saving", {.notes = {.tooltip = "Unsaved work is lost, and so is its autosave."}}))
        view.closing = Closing::Now;
    ImGui::SameLine(0, context.px(8));
    if (button(ui, "Cancel", {.notes = {.tooltip = "Esc"}}) || key_pressed(Key::Escape, false)) view.closing = Closing::No;
    ImGui::End();
}

/// Saves one part after the other: first the run, so that the document can name its file. Cancelling a sheet, a failed save, and earlier
/// runs and documents that are not saved leave the window open.
void go_on_saving(PanelContext& context) {
    FileView& view = context.view.files;
    if (view.task != FileTask::None || context.files.busy) return;
    if (!context.would_be_lost.document && !context.would_be_lost.run) {
        if (context.would_be_lost.earlier_document) {
            view.closing = Closing::No;
            context.commands.push_back({command::GoBackToLeft{}, ""});
            context.commands.push_back({command::TellFile{left_words(context), true}, ""});
            return;
        }
        view.closing = context.would_be_lost.earlier_runs ? Closing::No : Closing::Now;
        if (!context.would_be_lost.earlier_runs) return;
        context.view.view = View::Train;
        context.commands.push_back({command::TellFile{earlier_words(context), true}, ""});
        return;
    }
    const ClosingPart part = context.would_be_lost.run ? ClosingPart::Run : ClosingPart::Document;
    if (view.closing_part != part) {
        view.closing_part = part;
        // No valid count, so it matches only after the user has confirmed the sheet.
        view.run_notices = ~std::uint64_t{0};
        if (part == ClosingPart::Document) begin_save(context, false);
        else begin_save_run(context);
        return;
    }
    const bool run_is_written = part == ClosingPart::Run && view.run_notices == context.training.snapshot->notices;
    if (!run_is_written) view.closing = Closing::No;
}

}  // namespace

void close_window(PanelContext& context) {
    FileView& view = context.view.files;
    if (view.closing != Closing::No) return;
    view.closing = context.would_be_lost.any() ? Closing::Asked : Closing::Now;
    view.task = FileTask::None;
    forget_desktop(view);
    context.view.palette.open = false;
    context.view.help = false;
    stop_typing();
}

void draw_close_sheet(PanelContext& context) {
    if (context.view.files.closing == Closing::Asked) draw_question(context);
    else if (context.view.files.closing == Closing::Saving) go_on_saving(context);
}

}  // namespace attn::app
