#pragma once
/// The panes of the Train view; each draws into the current child window.

#include <algorithm>

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// The head of the attention with these weights is the one that all views show.
inline bool is_chosen_attention(const PanelContext& context, const StageId& weights, std::int64_t head) {
    const StageId& shown = context.view.stage;
    const bool same_stack = weights.stack == shown.stack && is_cross(weights.stage) == is_cross(shown.stage);
    return head == context.view.head && weights.layer == std::max(shown.layer, 0) && same_stack;
}

/// Settings of the run, at the left.
void draw_train_settings(PanelContext& context);
/// Everything else: plots, attention, predictions and history, laid out in the current child window.
void draw_train_view(PanelContext& context);

void draw_train_loss(PanelContext& context);
void draw_train_accuracy(PanelContext& context);
void draw_train_gradient_norm(PanelContext& context);
void draw_train_learning_rate(PanelContext& context);
void draw_train_attention(PanelContext& context);
void draw_train_predictions(PanelContext& context);
void draw_train_history(PanelContext& context);

/// End of the plots' x axis, so that it grows seldom: the doubled step that holds the newest one, or the run's last step.
double plot_end(const PanelContext& context);
/// Colour of a run's curves; the newest has the accent's.
Color run_color(const PanelContext& context, std::size_t index);

}  // namespace attn::app
