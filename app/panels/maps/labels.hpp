#pragma once
/// What stands beside a row, a column or a cell: tokens by their text, everything else by its number.

#include <string>
#include <string_view>
#include <vector>

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Shown text of index `i` on an axis of a stage: the token at a position, the entry of the vocabulary, else the number.
std::string index_label(const PanelContext& context, const StageId& id, Axis axis, std::int64_t i, const LabelledBy& by = {});
/// Labels of a whole axis; empty for axes whose numbers say nothing (d_model, d_head, d_ff).
std::vector<std::string> axis_labels(const PanelContext& context, const StageId& id, Axis axis, std::int64_t count,
                                     const LabelledBy& by = {});
/// "query", "key", "d_head": the axis in words.
std::string_view axis_title(Axis axis);
/// The text whose positions an axis of this stage counts: the encoder's for encoder stages and for the keys of cross-attention.
const std::vector<std::vector<Token>>& tokens_of(const PanelContext& context, const StageId& id, Axis axis, const LabelledBy& by = {});

}  // namespace attn::app
