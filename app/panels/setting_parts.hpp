#pragma once
/// The sections of the settings that need no file of their own.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Layer, head and text; of views with many heads the stage too.
void draw_shown(PanelContext& context);
void draw_lines_settings(PanelContext& context);
/// Patterns, and how many heads show each.
void draw_find_heads(PanelContext& context);
/// What maps of weights show of them.
void draw_measure(PanelContext& context);
/// Causal and padding.
void draw_masks(PanelContext& context);
/// Window, prefix, block and painted cells.
void draw_other_masks(PanelContext& context);
void draw_softmax(PanelContext& context);
void draw_tokenizer(PanelContext& context);
/// How much memory computed numbers may take; not in a lesson.
void draw_memory_settings(PanelContext& context);

}  // namespace attn::app
