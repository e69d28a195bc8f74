#include <fmt/format.h>

#include <algorithm>

#include "app/panels/files/desktop_sheet.hpp"
#include "app/panels/files/files.hpp"
#include "app/panels/kit/train_words.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

std::string document_words(const PanelContext& context) {
    const std::string name = document_name(context.files.document);
    return name.empty() ? "The document has changes that are not saved." : fmt::format("\"{}\" has changes that are not saved.", name);
}

/// A line for every run that is not saved, the oldest first.
std::vector<std::string> lines_of_runs(const PanelContext& context) {
    constexpr std::size_t kMost = 8;
    const RunStatus& now = *context.training.status;
    const std::vector<RunCurves>& runs = context.training.runs;
    const std::vector<std::uint64_t>& earlier = context.would_be_lost.earlier_runs;
    const std::vector<std::string> names = run_names(runs);
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const bool running = runs[i].run == now.run && now.phase == TrainingPhase::Running;
        const auto kept = std::find_if(now.kept.begin(), now.kept.end(), [&](const KeptRun& one) { return one.run == runs[i].run; });
        const bool is_lost =
            runs[i].run == now.run ? context.would_be_lost.run : std::find(earlier.begin(), earlier.end(), runs[i].run) != earlier.end();
        if (!is_lost) continue;
        const std::int64_t step = kept == now.kept.end() ? now.step : kept->step;
        lines.push_back(fmt::format("{}, {}step {}", names[i], running ? "in progress, at " : "", format_count(step)));
    }
    if (lines.size() <= kMost) return lines;
    const std::size_t more = lines.size() - kMost + 1;
    lines.resize(kMost - 1);
    lines.push_back(fmt::format("and {} more", more));
    return lines;
}

std::string left_words(const PanelContext& context) {
    return fmt::format("\"{}\", which was open before, has changes that are not saved.", document_name(context.files.left_document));
}

std::size_t unsaved_runs(const PanelContext& context) {
    return context.would_be_lost.earlier_runs.size() + (context.would_be_lost.run ? 1 : 0);
}

void draw_unsaved_runs(const PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const std::size_t count = unsaved_runs(context);
    if (count == 0) return;
    paragraph(context.ui(), fonts.body, colors.text,
              count == 1 ? std::string("A training run is not saved:") : fmt::format("{} training runs are not saved:", count));
    for (const std::string& line : lines_of_runs(context)) paragraph(context.ui(), fonts.label, colors.muted, line);
}

/// What is to be saved next: a run, or 0 for the document and the run that it shows.
std::optional<std::uint64_t> part_to_save(const PanelContext& context) {
    const WouldBeLost& lost = context.would_be_lost;
    const std::uint64_t run = context.training.status->run;
    const bool shows_run = context.document.trained && context.document.trained->run == run;
    if (lost.document || (lost.run && shows_run)) return 0;
    if (lost.run) return run;
    if (!lost.earlier_runs.empty()) return lost.earlier_runs.front();
    return std::nullopt;
}

void begin_saving(PanelContext& context) {
    context.view.files.closing = Closing::Saving;
    context.view.files.closing_part.reset();
    // Otherwise the run would continue past the saved state.
    if (context.would_be_lost.run && context.training.status->phase == TrainingPhase::Running)
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
    draw_unsaved_runs(context);
    if (context.would_be_lost.earlier_document) paragraph(ui, fonts.body, colors.text, left_words(context));
    gap(ui, 10);
    const bool saves = part_to_save(context).has_value();
    const char* tooltip =
        saves ? "One after the other; asks for a name where there is none yet (Enter)." : "Undoes what was opened since (Enter).";
    const char* label = !saves                                                                 ? "Go back to it##save"
                        : unsaved_runs(context) + (context.would_be_lost.document ? 1 : 0) > 1 ? "Save all and close##save"
                                                                                               : "Save and close##save";
    if (button(ui, label, {.look = ButtonLook::Accent, .notes = {.tooltip = tooltip}}) || key_pressed(Key::Enter, false))
        begin_saving(context);
    ImGui::SameLine(0, context.px(8));
    if (button(ui, "Close without saving", {.notes = {.tooltip = "Unsaved work is lost, and so is its autosave."}}))
        view.closing = Closing::Now;
    ImGui::SameLine(0, context.px(8));
    if (button(ui, "Cancel", {.notes = {.tooltip = "Esc"}}) || key_pressed(Key::Escape, false)) view.closing = Closing::No;
    end_sheet(context);
}

/// Saves one part after the other. Cancelling a sheet, a failed save, and a document open before that is not saved leave the window open.
void go_on_saving(PanelContext& context) {
    FileView& view = context.view.files;
    if (view.task != FileTask::None || context.files.busy || asks_about_replacing(context)) return;
    const std::optional<std::uint64_t> part = part_to_save(context);
    if (part && view.closing_part != part) {
        view.closing_part = part;
        return *part == 0 ? begin_save(context, false) : begin_save_run(context, *part);
    }
    view.closing = part || context.would_be_lost.earlier_document ? Closing::No : Closing::Now;
    if (part || !context.would_be_lost.earlier_document) return;
    context.commands.push_back({command::GoBackToLeft{}, ""});
    context.commands.push_back({command::TellFile{left_words(context), true}, ""});
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
    Closing& closing = context.view.files.closing;
    if (closing == Closing::Asked && !context.would_be_lost.any()) closing = Closing::Now;  // saved meanwhile
    if (closing == Closing::Asked) draw_question(context);
    else if (closing == Closing::Saving) go_on_saving(context);
}

}  // namespace attn::app
