#include "engine/plan/make_mistake.hpp"

#include <cmath>

namespace attn {
namespace {

bool is_map_rule(Op op) { return op == Op::Mask || op == Op::Softmax; }

void scale_by(PlanNode& node, double factor) {
    if (node.op == Op::Scale && is_attention_map(node.id.stage)) node.settings.factor = factor;
}

void mask_by(PlanNode& node, MaskRule rule) {
    if (is_map_rule(node.op)) node.settings.mask_rule = rule;
}

/// Scores read v instead of k, and the context k instead of v.
void swap_keys_and_values(PlanNode& node) {
    if (node.op != Op::Scores && node.op != Op::Mix) return;
    const Stage other = node.op == Op::Scores ? Stage::V : Stage::K;
    node.inputs[1].stage = is_cross(node.id.stage) ? to_cross(other) : other;
}

/// Reduces a sum to one of its two inputs.
void keep_input(PlanNode& node, bool of_embedding, std::size_t which) {
    if (node.op != Op::Add || node.inputs.size() < 2 || (node.id.stage == Stage::Embedding) != of_embedding) return;
    node.inputs = {node.inputs[which]};
}

}  // namespace

void make_mistake(Mistake mistake, const Config& config, PlanNode& node) {
    OpSettings& settings = node.settings;
    const double size = static_cast<double>(config.head_size());
    switch (mistake) {
    case Mistake::None:
        return;
    case Mistake::NoScale:
        return scale_by(node, 1);
    case Mistake::ScaleByModelWidth:
        return scale_by(node, 1 / std::sqrt(static_cast<double>(config.d_model)));
    case Mistake::ScaledTwice:
        return scale_by(node, 1 / size);
    case Mistake::SoftmaxOverQueries:
        settings.over_queries = node.op == Op::Softmax;
        return;
    case Mistake::MaskAfterSoftmax:
        settings.masks_late = is_map_rule(node.op);
        return;
    case Mistake::InvertedMask:
        return mask_by(node, MaskRule::Inverted);
    case Mistake::MaskMissing:
        return mask_by(node, MaskRule::Missing);
    case Mistake::CausalLeaksOne:
        return mask_by(node, MaskRule::LeaksOne);
    case Mistake::CausalMasksSelf:
        return mask_by(node, MaskRule::MasksSelf);
    case Mistake::PaddingOnQueries:
        return mask_by(node, MaskRule::PaddingOnQueries);
    case Mistake::HeadsSplitWithoutTranspose:
        settings.by_reshape = node.op == Op::Linear && node.has_heads();
        return;
    case Mistake::HeadsJoinedWithoutTranspose:
        settings.by_reshape = node.op == Op::JoinHeads;
        return;
    case Mistake::DropoutLeftOn:
        if (node.op == Op::Dropout) settings.least_rate = kDropoutLeftOn;
        return;
    case Mistake::KeysValuesSwapped:
        return swap_keys_and_values(node);
    case Mistake::NoPositions:
        return keep_input(node, true, 0);
    case Mistake::NoResidual:
        return keep_input(node, false, 1);
    case Mistake::MissingNorm:
        settings.passes_on = node.op == Op::Norm;
        return;
    }
}

}  // namespace attn
