#pragma once
/// Training controls shared by buttons, keys and plots: start, pause, and moving through moments.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// The label and tooltip of the main button.
struct TransportWords {
    std::string_view label, tooltip;
    bool runs = false;
};
TransportWords transport_words(const PanelContext& context);
/// Whether this session has no run yet, so that there is nothing to show but what will be.
bool is_before_first_run(const PanelContext& context);
/// What of the settings needs a new run: another task, model or mistake.
std::vector<std::string> needs_new_run(const PanelContext& context);
/// Does what the main button says. A press just after the end of a run, probably meant as Pause, is ignored.
void toggle_training(PanelContext& context);
/// By key: starts, pauses or resumes, but never replaces a run.
void toggle_training_by_key(PanelContext& context);
/// Whether two runs that differ only in their mistake are in progress; changes that would affect only one of them are blocked.
bool pair_is_under_way(const PanelContext& context);

/// The step that the document shows; none if its model does not belong to the current run, or nothing has been computed yet.
std::optional<std::int64_t> shown_step(const PanelContext& context);
bool follows_newest(const PanelContext& context);
/// The shown step if the run is rewound; none: the newest.
std::optional<std::int64_t> rewound_step(const PanelContext& context);
/// Shows the saved moment nearest to `step`, or follows the newest from the last step on. One gesture forms one undo step.
void show_step(PanelContext& context, double step);
void follow_newest(PanelContext& context);
/// Shows the next (+1) or previous (-1) moment.
void step_moment(PanelContext& context, int direction);
void show_first_moment(PanelContext& context);
/// Shows the step of the current run with the lowest held-out loss.
void show_lowest_loss(PanelContext& context);
/// Starts a new run, paused, from the step that is shown.
void branch_from_here(PanelContext& context);
void toggle_replay(PanelContext& context);
/// To be called once per frame: advances a replay, and records the stop conditions when the run ends.
void keep_up_with_training(PanelContext& context);

/// Pins the shown state as B.
void pin_b(PanelContext& context);

/// In the text row: which step of which run is shown, and whether that is still training; right-aligned at `right`. Returns the width in
/// pixels, 0 if the document shows no run.
float draw_run_chip(PanelContext& context, float right, float y, float room);

}  // namespace attn::app
