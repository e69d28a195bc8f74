#pragma once
/// Deliberate mistakes: the controls that set them, and the warning while one is active.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Sets this mistake, or none, and compares with the correct computation.
void set_mistake(PanelContext& context, Mistake mistake);

/// The settings section: one button per mistake.
void draw_mistake_settings(PanelContext& context);
/// Trains two models, without and with the mistake, and opens the Train view.
void train_both(PanelContext& context, Mistake mistake);
/// The mistake of the training run: a menu, and a button that trains both.
void draw_training_mistake(PanelContext& context);
/// A line above the picture while a mistake is active, with a button to undo it.
void draw_mistake_sign(PanelContext& context);

}  // namespace attn::app
