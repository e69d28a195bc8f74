#pragma once
/// Breaking the model on purpose: the switches, what they set, and the sign that one of them is on.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Makes this mistake, or none, and compares what is shown with the right computation.
void set_mistake(PanelContext& context, Mistake mistake);

/// The settings' section: one button a mistake.
void draw_mistake_settings(PanelContext& context);
/// Two training runs, right and with this mistake; shows the Train view.
void train_both(PanelContext& context, Mistake mistake);
/// The mistake of the training run: a menu, and the button that trains both.
void draw_training_mistake(PanelContext& context);
/// A line above the picture while a mistake is on, with a way back.
void draw_mistake_sign(PanelContext& context);

}  // namespace attn::app
