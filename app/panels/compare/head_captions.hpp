#pragma once
/// Short captions that describe the behaviour of heads.

#include <string>
#include <vector>

#include "app/panels/kit/panel_context.hpp"
#include "engine/trace/head_score.hpp"

namespace attn::app {

struct HeadCaption {
    std::string text;  ///< such as "previous 0.94" or "spread 1.10"
    Color color = 0;
    std::string brief{};  ///< the same with a shortened word, such as "prev 0.94"
};

/// The head's scores in the state shown: of A while a comparison shows it in place; null if they are not known.
const HeadScore* head_score(const PanelContext& context, const StageId& weights, std::int64_t head);

/// The same of every head of an attention; those that are not known have no rows.
std::vector<HeadScore> scores_of_heads(const PanelContext& context, const StageId& weights);

/// The pattern that has more than half of the head's weight, otherwise its entropy; empty if nothing is known, or if the
/// weights are shown rescaled, whose entropy is different.
HeadCaption head_caption(const PanelContext& context, const StageId& weights, std::int64_t head);

/// The head's share of a pattern of head_patterns(), "–" where it cannot show it; empty if nothing is known.
HeadCaption pattern_caption(const PanelContext& context, const StageId& weights, std::int64_t head, std::string_view pattern);

/// With a shortened word or as the number alone if needed; "" if not even that fits.
std::string caption_that_fits(const HeadCaption& caption, const ImFont* font, float room);

}  // namespace attn::app
