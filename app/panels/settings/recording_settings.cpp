#include "app/panels/settings/recording_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/panels/kit/look.hpp"
#include "app/panels/kit/recorded_attentions.hpp"
#include "app/session/values/recording_report.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/shown_text.hpp"
#include "app/widgets/slider.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

void show(PanelContext& context, std::int64_t step, std::size_t group) {
    context.commands.push_back({command::ShowRecorded{step, group}, "recorded step"});
}

void draw_steps(PanelContext& context, const RecordedNumbers& shown) {
    const std::vector<std::int64_t>& steps = shown.recording->steps();
    if (steps.size() == 1) {
        value_row(context.ui(), "step", fmt::format("{}", steps.front()), "The only one that was recorded.");
        return;
    }
    const auto found = std::lower_bound(steps.begin(), steps.end(), shown.step);
    int place = static_cast<int>(std::min(found, steps.end() - 1) - steps.begin());
    const std::string words = fmt::format("{} ({} of {})", shown.step, place + 1, steps.size());
    const Edited edited = slider_row(context.ui(), "step", place,
                                     {.min = 0,
                                      .max = static_cast<double>(steps.size() - 1),
                                      .decimals = 0,
                                      .shown = words,
                                      .notes = {.tooltip = "The recorded steps. Arrow keys go from one to the next."}});
    if (edited) show(context, steps[static_cast<std::size_t>(place)], shown.group);
}

/// The processes of a job, if there are several.
void draw_ranks(PanelContext& context, const RecordedNumbers& shown) {
    const recording::Recording& recorded = shown.recording->recording();
    if (recorded.ranks.size() < 2) return;
    std::vector<std::optional<std::int64_t>> ranks(recorded.ranks.begin(), recorded.ranks.end());
    if (recorded.can_join) ranks.insert(ranks.begin(), std::nullopt);
    std::vector<std::string> texts;
    for (const std::optional<std::int64_t>& rank : ranks) texts.push_back(rank ? fmt::format("{}", *rank) : "all");
    const std::vector<std::string_view> names(texts.begin(), texts.end());
    int chosen = static_cast<int>(std::find(ranks.begin(), ranks.end(), recorded.rank) - ranks.begin());
    const std::string_view tooltip = recorded.can_join
                                         ? "The processes of the recorded job have heads of one model: those of all, or of one."
                                         : "The processes of the job that was recorded, each with its part.";
    if (segmented_row(context.ui(), "rank", names, chosen, 44, {.tooltip = tooltip}))
        context.commands.push_back({command::ShowRank{ranks[static_cast<std::size_t>(chosen)]}, ""});
}

/// A menu, if not all attentions have the same sizes.
void draw_groups(PanelContext& context, const RecordedNumbers& shown, const RecordingReport& report) {
    if (report.groups.size() < 2) return;
    const std::vector<std::string_view> names(report.groups.begin(), report.groups.end());
    int chosen = static_cast<int>(std::min(shown.group, names.size() - 1));
    gap(context.ui(), 4);
    if (drop_down(context.ui(), "##attentions", names, chosen, -1,
                  {.tooltip = "Attentions with the same sizes are shown beside each other; these have others."}))
        show(context, shown.step, static_cast<std::size_t>(chosen));
}

}  // namespace

void draw_recording(PanelContext& context) {
    const Ui ui = context.ui();
    const RecordedNumbers& shown = *context.document.recorded;
    const bool shipped = shown.recording->is_shipped();
    value_row(ui, shipped ? "example" : "from", visible_text(shown.recording->name()),
              shipped ? "It comes with the program." : visible_text(shown.recording->path().native()));
    draw_steps(context, shown);
    draw_ranks(context, shown);
    if (!shipped && link(ui, "Read it again", "Shows steps that came since it was opened."))
        context.commands.push_back({command::OpenFile{shown.recording->path()}, ""});
    if (!shipped && link(ui, "Open as a model", "The recorded weights in a model that runs, checked against the recording."))
        context.commands.push_back({command::OpenAsModel{look_of(context.view)}, ""});
    if (context.ready()) {
        const auto report = context.ask(facet::RecordingReport{});
        if (!report.problem.empty()) paragraph(ui, context.theme.fonts.caption, context.theme.colors.bad, report.problem);
        if (report) {
            draw_groups(context, shown, *report);
            draw_recorded_attentions(context, *report, context.theme.fonts.caption);
        }
    }
}

std::string recording_value(const PanelContext& context) {
    return context.document.recorded ? fmt::format("step {}", context.document.recorded->step) : "";
}

}  // namespace attn::app
