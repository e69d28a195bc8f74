#pragma once
/// What views of many maps show for a head: values, gradients, or differences from another state.

#include <string>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// The slice of a recorded stage for a head; empty if the trace does not contain it.
Matrix shown_slice(PanelContext& context, const StageId& id, std::int64_t head);
/// Whether maps of this stage show norm-weighted attention: weights times the norm of what they weigh.
bool shows_norm_weighted(const PanelContext& context, const StageId& id);
/// Whether zeros of this map are what dropout has left out.
bool shows_dropout(const PanelContext& context, const Matrix& matrix);
/// Stands in the place of a map that is being computed.
void draw_awaited(const PanelContext& context, ImVec2 min, ImVec2 max);
/// The largest magnitude over all heads, and in Grid over all layers, if differences, multiplied weights or, in Grid, gradients are shown;
/// otherwise 0.
float shown_reach(PanelContext& context, const StageId& shown);
/// The style of such a slice, with the same range for everything that is shown.
HeatmapStyle shown_style(PanelContext& context, const Matrix& matrix, const StageId& id, float reach);
/// How weights are measured in views of many heads: " × ‖v W_O‖ without the first key"; "" as computed.
std::string measure_words(const PanelContext& context, const StageId& id);
/// The heading for maps of this stage: "Weights", "Weights: gradient of the loss", "Weights: B − A" or "Weights × ‖v W_O‖".
std::string shown_title(PanelContext& context, const StageId& id);
/// Draws the heading in the largest font that fits before `right`, shortened if necessary; returns its right edge in pixels.
float draw_shown_title(PanelContext& context, const StageId& id, ImVec2 at, float right);
/// Why the current comparison cannot be shown for this stage; empty if it can.
Reason shown_problem(PanelContext& context, const StageId& id);
/// That problem, or else a remark on what is shown: that nothing differs, as right after a state was pinned. "" for none.
struct ShownRemark {
    std::string words;
    Color color = 0;
};
ShownRemark shown_remark(PanelContext& context, const StageId& id);

}  // namespace attn::app
