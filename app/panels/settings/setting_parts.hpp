#pragma once
/// Smaller sections of the settings.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Which maps views of many heads show, or the layers of Totals; where the stages below are hidden, layer and head.
void draw_shown(PanelContext& context);
void draw_lines_settings(PanelContext& context);
/// Head patterns, and how many heads show each.
void draw_find_heads(PanelContext& context);
/// How attention weights are measured in maps.
void draw_measure(PanelContext& context);
/// Causal and padding.
void draw_masks(PanelContext& context);
/// Window, prefix, block and painted cells.
void draw_other_masks(PanelContext& context);
void draw_softmax(PanelContext& context);
void draw_tokenizer(PanelContext& context);
/// The memory limit for computed numbers; not in lessons.
void draw_memory_settings(PanelContext& context);

}  // namespace attn::app
