/// The list of runs: each can be shown in the plots or hidden, named, returned to and removed.

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "app/panels/kit/section.hpp"
#include "app/panels/kit/train_words.hpp"
#include "app/panels/train/train_view.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/text_field.hpp"

namespace attn::app {
namespace {

constexpr float kRunRow = 40, kRunButton = 22;
constexpr std::size_t kLongestName = 60;

/// A run in the list.
struct ListedRun {
    std::uint64_t run = 0;
    std::string name, detail;
    TaskKind task{};
    bool current = false;
};

std::string_view phase_words(const RunStatus& now, TrainingPhase phase, bool current) {
    if (current && now.followed) return "trained elsewhere";
    switch (phase) {
    case TrainingPhase::Running:
        return "running";
    case TrainingPhase::Finished:
        return "finished";
    case TrainingPhase::Failed:
        return "failed";
    default:
        return "paused";
    }
}

/// The newest first.
std::vector<ListedRun> listed_runs(const PanelContext& context) {
    const RunStatus& now = *context.training.status;
    const std::vector<std::string>& names = names_of_runs(context);
    std::vector<ListedRun> runs;
    for (std::size_t i = context.training.runs.size(); i-- > 0;) {
        const RunCurves& curves = context.training.runs[i];
        const bool current = curves.run == now.run;
        const auto kept = std::find_if(now.kept.begin(), now.kept.end(), [&](const KeptRun& one) { return one.run == curves.run; });
        if (!current && kept == now.kept.end()) continue;
        const std::string_view phase = phase_words(now, current ? now.phase : kept->phase, current);
        runs.push_back({curves.run, names[i], fmt::format("{}, step {}", phase, format_count(current ? now.step : kept->step)),
                        curves.settings.task.kind, current});
    }
    return runs;
}

/// A small button with an icon at the right of a row. True if it was pressed.
bool row_button(PanelContext& context, const char* id, Icon icon, ImVec2 at, Color color, const ControlNotes& notes) {
    const Item item = item_at(context.ui(), id, at, {context.px(kRunButton), context.px(kRunRow)}, notes);
    const ImVec2 middle{(item.min.x + item.max.x) / 2, (item.min.y + item.max.y) / 2};
    draw_icon(*ImGui::GetWindowDrawList(), icon, middle, context.px(10), item.hovered ? context.theme.colors.text : color);
    draw_focus_ring(context.ui(), item, context.px(4));
    return item.pressed;
}

/// A name with at most kLongestName bytes, whole characters only: a run whose name is not UTF-8 could not be saved.
std::string shortened_name(std::string name) {
    if (name.size() <= kLongestName) return name;
    std::size_t end = kLongestName;
    const auto continues = [&](std::size_t at) { return (static_cast<unsigned char>(name[at]) & 0xC0U) == 0x80U; };
    while (end > 0 && continues(end)) --end;
    name.resize(end);
    return name;
}

/// The field for a run's name in place of its row.
void draw_naming(PanelContext& context, const ListedRun& run) {
    RunNaming& naming = context.view.train.naming;
    if (std::exchange(naming.focus, false)) focus_next_field();
    const bool entered = text_field(context.ui(), "##name", naming.name, "name of the run", -1,
                                    {.tooltip = "Enter: this name. Without one, the run has its number and what it sets otherwise."});
    gap(context.ui(), kRunRow - 30);
    if (key_pressed(Key::Escape, false)) naming.run = 0;
    if (!entered) return;
    context.commands.push_back({command::RenameRun{run.run, shortened_name(naming.name)}, ""});
    naming.run = 0;
}

void draw_run_words(PanelContext& context, const ListedRun& run, const Item& row, bool asked) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const bool drawn = draws_run(context, run.run);
    const LineLook look = run_look(context, run.run);
    const float x = row.min.x + context.px(6), room = row.width() - context.px(8);
    draw_text(list, fonts.label, {x, row.min.y + context.px(4)}, drawn ? colors.text : colors.faint, elide(fonts.label, run.name, room));
    const float y = row.min.y + context.px(28), sample = context.px(16);
    if (drawn) {
        list.PathLineTo({x, y});
        list.PathLineTo({x + sample, y});
        stroke_dashed(list, look.dash, look.color, context.px(2), context.px(2.5F));
    }
    const std::string detail = asked ? "× again to remove it" : run.detail;
    const float left = drawn ? x + sample + context.px(6) : x;
    draw_text(list, fonts.caption, {left, row.min.y + context.px(21)}, asked ? colors.bad : colors.muted,
              elide(fonts.caption, detail, row.max.x - context.px(2) - left));
}

/// A click on the row makes the run current, the eye shows or hides its curves, the cross removes it after a second click.
void draw_listed_run(PanelContext& context, const ListedRun& run) {
    const auto& [colors, fonts, scale] = context.theme;
    TrainView& train = context.view.train;
    const float width = ImGui::GetContentRegionAvail().x, side = context.px(kRunButton);
    const float buttons = side * (run.current ? 2 : 3);
    const bool asked = train.forgetting == run.run, drawn = draws_run(context, run.run);
    const Item row = begin_item(context.ui(), "##choose", {width - buttons, context.px(kRunRow)},
                                {.tooltip = run.current ? "The current run." : "Back to this run, as you left it."});
    if (row.hovered && !run.current)
        ImGui::GetWindowDrawList()->AddRectFilled(row.min, {row.min.x + width, row.max.y}, colors.raised, context.px(6));
    draw_run_words(context, run, row, asked);
    draw_focus_ring(context.ui(), row, context.px(6));
    float x = row.max.x;
    const auto pressed = [&](const char* id, Icon icon, Color color, const ControlNotes& notes) {
        const bool now = row_button(context, id, icon, {x, row.min.y}, color, notes);
        x += side;
        return now;
    };
    if (pressed("##eye", Icon::Eye, drawn ? colors.muted : with_alpha(colors.faint, 0.5F),
                {.tooltip = drawn ? "Hides its curves." : "Shows its curves."})) {
        if (drawn) train.hidden.insert(run.run);
        else train.hidden.erase(run.run);
    }
    if (pressed("##rename", Icon::Pencil, colors.muted, {.tooltip = "Gives the run a name."})) train.naming = {run.run, run.name, true};
    const bool forget =
        !run.current && pressed("##forget", Icon::Close, asked ? colors.bad : colors.faint,
                                {.tooltip = asked ? "Removes this run and its kept steps." : "Removes this run; asks first."});
    if (row.pressed && !run.current) context.commands.push_back({command::ChooseRun{run.run}, ""});
    if (row.pressed || forget) train.forgetting = 0;
    if (!forget) return;
    if (asked) context.commands.push_back({command::ForgetRun{run.run}, ""});
    else train.forgetting = run.run;
}

/// One click for the runs whose loss is that of another task, or for all that are hidden.
void draw_hiding(PanelContext& context, const std::vector<ListedRun>& runs) {
    TrainView& train = context.view.train;
    const TaskKind task = context.training.status->settings.task.kind;
    const auto is_other = [&](const ListedRun& run) { return run.task != task && draws_run(context, run.run); };
    if (std::any_of(runs.begin(), runs.end(), is_other)) {
        if (link(context.ui(), "hide other tasks", "Hides the curves of all runs that learn something else."))
            for (const ListedRun& run : runs)
                if (run.task != task) train.hidden.insert(run.run);
    } else if (!train.hidden.empty() && link(context.ui(), "show all", "Shows the curves of all runs.")) {
        train.hidden.clear();
    }
}

}  // namespace

const std::vector<std::string>& names_of_runs(const PanelContext& context) {
    const TrainingReport& training = context.training;
    NamesOfRuns& known = context.view.train.names;
    // A run that is removed goes before the status says so.
    if (known.serial != training.status->serial || known.names.size() != training.runs.size())
        known = {training.status->serial, run_names(training.runs)};
    return known.names;
}

void draw_run_list(PanelContext& context) {
    const std::vector<ListedRun> runs = listed_runs(context);
    if (runs.empty()) return;
    separator(context.ui());
    if (!open_section(context, "run list", "Runs", fmt::format("{}", runs.size()), "All runs of this session.")) return;
    for (const ListedRun& run : runs) {
        ImGui::PushID(static_cast<int>(run.run));
        if (context.view.train.naming.run == run.run) draw_naming(context, run);
        else draw_listed_run(context, run);
        ImGui::PopID();
    }
    draw_hiding(context, runs);
}

}  // namespace attn::app
