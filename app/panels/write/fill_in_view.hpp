#pragma once
/// The Write view for masked language models, which do not generate text but fill in hidden words.

#include <cstdint>
#include <optional>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Whether the shown model is an encoder.
bool reads_both_ways(const PanelContext& context);
/// The position of the selected hidden word: the selected query if it is one, otherwise the first. In ids, any may be one.
std::optional<std::int64_t> hidden_position(const Snapshot& snapshot, const ViewState& view);

void draw_fill_in_view(PanelContext& context);

}  // namespace attn::app
