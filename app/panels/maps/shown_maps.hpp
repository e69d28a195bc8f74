#pragma once
/// What the views of many maps show of a head: its numbers, their gradients, or how they differ from another state's.

#include <string>

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// A recorded stage's slice for a head; empty where the trace has none.
Matrix shown_slice(PanelContext& context, const StageId& id, std::int64_t head);
/// Whether maps of this stage show the weights times the length of what they move.
bool shows_moved(const PanelContext& context, const StageId& id);
/// The largest difference, or weight times what it moves, of any head of any layer, where these are shown; else 0.
float shown_reach(PanelContext& context, Stage stage);
/// Colours of a shown slice: equal colours are equal numbers in every head and layer.
HeatmapStyle shown_style(PanelContext& context, const Matrix& matrix, const StageId& id, float reach);
/// Heading of the maps that are shown of this stage: "Weights", "Weights: gradient of the loss" "Weights: B − A" "Weights without the
/// first key, rescaled" or "Weights × ‖v W_O‖".
std::string shown_title(PanelContext& context, const StageId& id);
/// Draws it in the largest letters of a heading in which it ends before `right`, or cut; returns where it ends. In pixels.
float draw_shown_title(PanelContext& context, const StageId& id, ImVec2 at, float right);
/// Why the comparison that is asked for cannot be shown for this stage, "" when it can.
std::string shown_problem(PanelContext& context, const StageId& id);

}  // namespace attn::app
