#pragma once
/// One short line that says what a head does.

#include <string>

#include "app/panels/panel_context.hpp"

namespace attn::app {

struct HeadCaption {
    std::string text;  ///< "previous 0.94", "entropy 1.10"
    Color color = 0;
};

/// The pattern that more than half of the head's weight follows, else its entropy; empty when nothing can be said.
HeadCaption head_caption(const PanelContext& context, const StageId& weights, std::int64_t head);

/// Over a small map the figure alone, or nothing where not even that fits.
std::string caption_that_fits(const HeadCaption& caption, const ImFont* font, float room);

/// The head's score by pattern name ("previous token", "first token", "same token", "after a repeat", "alignment"); 0 for unknown heads.
double head_pattern(const PanelContext& context, const StageId& weights, std::int64_t head, const std::string& pattern);

}  // namespace attn::app
