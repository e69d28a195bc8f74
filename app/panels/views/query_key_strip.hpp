#pragma once
/// q · k of one pair of tokens, dimension by dimension.

#include "app/panels/panel_context.hpp"
#include "app/panels/views/equation_layout.hpp"

namespace attn::app {

/// Logical pixels that the strip needs.
inline constexpr float kQueryKeyHeight = 154;

/// Rows of cells: the query, the key, their products and the running sum, which ends with the score. `scores` is the scores or
/// cross_scores stage; query and key are those that are pointed at, else those that are chosen.
void draw_query_key_strip(PanelContext& context, const StageId& scores, std::int64_t head, const Box& box);

}  // namespace attn::app
