#pragma once
/// q · k for a pair of tokens, dimension by dimension.

#include "app/panels/kit/panel_context.hpp"
#include "app/widgets/box.hpp"

namespace attn::app {

/// The height of the strip in logical pixels.
inline constexpr float kQueryKeyHeight = 154;

/// Draws rows of cells for the query, the key, their products and the running sum, which ends with the score. `scores`: the scores or
/// cross_scores stage. Uses the hovered query and key, otherwise the selected ones.
void draw_query_key_strip(PanelContext& context, const StageId& scores, std::int64_t head, const Box& box);

}  // namespace attn::app
