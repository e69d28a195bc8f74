#pragma once
/// Breaking the model on purpose: the switches, what they set, and the sign that one of them is on.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Makes this mistake, or none, and compares what is shown with the right computation.
void set_mistake(PanelContext& context, Mistake mistake);

/// The settings' section: one button a mistake.
void draw_mistake_settings(PanelContext& context);
/// The same for the training run: a menu.
void draw_training_mistake(PanelContext& context);
/// A line above the picture while a mistake is on, with a way back.
void draw_mistake_sign(PanelContext& context);

}  // namespace attn::app
