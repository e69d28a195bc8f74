#include "engine/model/text_rules.hpp"

#include <algorithm>

namespace attn {
namespace {

bool mixes_positions(Mistake mistake) { return mistake != Mistake::None && mistake_info(mistake).mixes_positions; }

/// Whether the edit reads another position.
bool takes_row(const Edit& edit) { return edit.on && edit.kind == EditKind::TakeRow; }

/// Whether a position depends on others only by attending to them. The fused form does not implement bucket biases.
bool only_attends(const Config& config, const ForwardSettings& settings) {
    const DropoutSettings& dropout = settings.dropout;
    const bool drops = dropout.attention != 0 || dropout.residual != 0 || dropout.embedding != 0;
    return config.architecture == Architecture::DecoderOnly && config.position != PositionKind::Buckets && !drops &&
           std::none_of(settings.edits.begin(), settings.edits.end(), takes_row) && !mixes_positions(settings.mistake);
}

}  // namespace

bool is_one_text(const TokenBatch& tokens) { return tokens.size() == 1 && tokens.segments.empty() && tokens.lengths[0] == tokens.length; }

bool can_compute_in_rows(const Config& config, const TokenBatch& tokens, const ForwardSettings& settings) {
    return is_one_text(tokens) && only_attends(config, settings);
}

bool prefix_stays(const Config& config, const ForwardSettings& settings) {
    // A single text has no padding, so that setting does not matter.
    MaskSettings causal;
    causal.causal = true;
    causal.padding = settings.masks.padding;
    return only_attends(config, settings) && settings.masks == causal && !settings.mistaken() && settings.edits.empty();
}

bool same_frequencies(const Plan& plan, std::int64_t before, std::int64_t after) {
    return before == 0 || std::all_of(plan.nodes().begin(), plan.nodes().end(), [&](const PlanNode& node) {
               return node.op != Op::Rotate || same_frequencies(node.settings.rotary, before, after);
           });
}

}  // namespace attn
