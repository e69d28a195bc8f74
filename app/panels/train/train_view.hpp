#pragma once
/// The panes of the Train view. Each draws into the current child window.

#include <algorithm>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Whether this is the head selected in all views.
inline bool is_chosen_attention(const PanelContext& context, const StageId& weights, std::int64_t head) {
    const StageId& shown = context.view.stage;
    const bool same_stack = weights.stack == shown.stack && weights.attention == shown.attention;
    return head == context.view.head && weights.layer == std::max(shown.layer, 0) && same_stack;
}

/// The settings of the run, on the left.
void draw_train_settings(PanelContext& context);
/// Everything else: lays out plots, attention, predictions and history in the current child window.
void draw_train_view(PanelContext& context);

void draw_train_loss(PanelContext& context);
void draw_train_accuracy(PanelContext& context);
void draw_train_gradient_norm(PanelContext& context);
void draw_train_learning_rate(PanelContext& context);
void draw_train_attention(PanelContext& context);
void draw_train_predictions(PanelContext& context);
void draw_train_history(PanelContext& context);

/// The end of the plots' x axis: beyond the newest step in powers of two, at most the run's last step, so that it rarely changes; but at
/// least the last step of every run.
double plot_end(const PanelContext& context);
/// The same for the current run alone.
double run_end(const PanelContext& context);
/// The colour of a run's curves; the accent colour for the current run.
Color run_color(const PanelContext& context, std::size_t index);

}  // namespace attn::app
