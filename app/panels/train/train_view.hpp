#pragma once
/// The panes of the Train view. Each draws into the current child window.

#include <algorithm>
#include <string>
#include <vector>

#include "app/panels/kit/panel_context.hpp"
#include "app/widgets/box.hpp"
#include "app/widgets/dashes.hpp"

namespace attn::app {

/// Whether this is the head whose map is the large one.
inline bool is_large_head(const PanelContext& context, const StageId& weights, std::int64_t head) {
    return context.view.train.large == HeadPlace{weights, head};
}

/// The settings of the run, on the left.
void draw_train_settings(PanelContext& context);
/// Under the slider of the learning rate: the rate in the plot and why it is another one; "" if it is the slider's.
std::string words_of_rate(const PanelContext& context);
/// Every run of this session, to be shown, named, returned to and removed.
void draw_run_list(PanelContext& context);
/// Everything else: lays out plots, attention, predictions and history in the current child window.
void draw_train_view(PanelContext& context);

void draw_train_loss(PanelContext& context);
void draw_train_accuracy(PanelContext& context);
void draw_train_gradient_norm(PanelContext& context);
void draw_train_learning_rate(PanelContext& context);
void draw_train_attention(PanelContext& context);
void draw_train_predictions(PanelContext& context);
void draw_train_history(PanelContext& context);
/// A sequence of the task of the next run, with what is asked for marked; returns its height, 0 until it is there.
float draw_task_example(const PanelContext& context, const Box& box);

/// The end of the current run's x axis: beyond the newest step in powers of two, at most the run's last step, so that it rarely changes.
double run_end(const PanelContext& context);
/// The end of the plots' x axis: that of the current run and the last step of every other one, of those whose curves are drawn.
double plot_end(const PanelContext& context);
/// Whether the run's curves are drawn.
inline bool draws_run(const PanelContext& context, std::uint64_t run) { return !context.view.train.hidden.contains(run); }

/// The names of all runs in the report's order, made once a status.
const std::vector<std::string>& names_of_runs(const PanelContext& context);

struct LineLook {
    Color color;
    Dash dash = Dash::Solid;
};
/// How a run's curves look; the current run's have the accent colour.
LineLook run_look(const PanelContext& context, std::uint64_t run);
/// How a head's curves look: the colour says which head of its layer, the dash which layer.
LineLook head_look(const PanelContext& context, const HeadPlace& place);

}  // namespace attn::app
