#pragma once
/// Starting, pausing and moving through the moments of a training run: what buttons, keys and plots share.

#include <optional>
#include <string>
#include <string_view>

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// What the large button does now.
struct TransportWords {
    std::string_view label, tooltip;
    bool runs = false;
};
TransportWords transport_words(const PanelContext& context);
/// Starts, pauses, goes on, or starts anew after the end. A press that was meant for Pause, just after the end, begins no new run.
void toggle_training(PanelContext& context);
/// The same by key, which never begins a new run in place of one that has ended: it says how.
void toggle_training_by_key(PanelContext& context);
/// Two runs that differ in their mistake only are under way: what would change one of them is held back.
bool pair_is_under_way(const PanelContext& context);

/// The step that the document shows: none when its model is not one of the current run, or nothing of it has been computed yet.
std::optional<std::int64_t> shown_step(const PanelContext& context);
bool follows_newest(const PanelContext& context);
/// The step that everything in the view is of: the shown one when the run is rewound, else none, which means the newest.
std::optional<std::int64_t> rewound_step(const PanelContext& context);
/// What the model of that step, or of the evaluation nearest to it, answered; null before the first evaluation.
const HeldOutAnswers* shown_answers(const PanelContext& context);
/// Shows the kept moment nearest to `step`; at the newest step and beyond it the newest is followed. All of one gesture is one undo step.
void show_step(PanelContext& context, double step);
void follow_newest(PanelContext& context);
/// To the moment before or after the shown one.
void step_moment(PanelContext& context, int direction);
void show_first_moment(PanelContext& context);
void toggle_replay(PanelContext& context);
/// Call once a frame: moves on while a replay is under way, and notes with which conditions the run has ended.
void keep_up_with_training(PanelContext& context);

/// Keeps what is shown as B.
void pin_b(PanelContext& context);

/// Play, one step, and which moment is shown, for the row of the text; returns its width in pixels. `right` is where it ends.
float draw_small_transport(PanelContext& context, float right, float y, float room);

}  // namespace attn::app
