#pragma once
/// Labels for rows, columns and cells: tokens as text, everything else as numbers.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/panels/kit/panel_context.hpp"
#include "app/widgets/heatmap_view.hpp"

namespace attn::app {

/// The label of index `i` on an axis of a stage: the token at a position, the vocabulary entry, otherwise the number. Of a difference of
/// states with different tokens there: both, "A→B".
std::string index_label(const PanelContext& context, const StageId& id, Axis axis, std::int64_t i, const LabelledBy& by = {});
/// The labels of an axis, which must not outlive the context; none for axes whose indices have no meaning (d_model, d_head, d_ff).
LabelOf axis_label(const PanelContext& context, const StageId& id, Axis axis, const LabelledBy& by = {});
/// The labels of an axis' first `count` indices.
std::vector<std::string> axis_labels(const PanelContext& context, const StageId& id, Axis axis, std::int64_t count,
                                     const LabelledBy& by = {});
/// The axis in words, such as "query", "key", "d_head".
std::string_view axis_title(Axis axis);
/// The tokens that an axis of this stage refers to: those of the encoder for encoder stages and the keys of cross-attention.
const std::vector<std::vector<Token>>& tokens_of(const PanelContext& context, const StageId& id, Axis axis, const LabelledBy& by = {});

/// Such as "L0 H1", in an encoder-decoder "encoder L0 H1", "decoder L0 H1" or "cross L0 H1"; without a head "L0". `id` is any stage of the
/// attention. `brief`: "enc L0 H1".
std::string attention_name(const StageId& id, std::optional<std::int64_t> head, bool brief = false);

}  // namespace attn::app
