#include "engine/plan/make_mistake.hpp"

#include <cmath>

namespace attn {
namespace {

void scale_by(PlanNode& node, double factor) {
    if (node.op == Op::Scale && is_attention_map(node.id.stage)) node.settings.factor = factor;
}

void mask_by(PlanNode& node, MaskRule rule) {
    if (node.op == Op::Mask) node.settings.mask_rule = rule;
}

void replace(PlanNode& node, Op right, Op wrong) {
    if (node.op == right) node.op = wrong;
}

/// Norms return their input, so that they have no use for parameters.
void pass_norms(PlanNode& node) {
    if (node.op != Op::Norm) return;
    node.op = Op::PassOn;
    node.weight = {};
    node.bias = {};
}

void mask_late(PlanNode& node) {
    replace(node, Op::Mask, Op::PassOn);
    replace(node, Op::Softmax, Op::SoftmaxThenMask);
}

/// Scores read v instead of k, and the context k instead of v.
void swap_keys_and_values(PlanNode& node) {
    if (node.op != Op::Scores && node.op != Op::Mix) return;
    node.inputs[1] = of_same_attention(node.id, node.op == Op::Scores ? Stage::V : Stage::K);
}

/// Reduces a sum to one of its two inputs.
void keep_input(PlanNode& node, bool of_embedding, std::size_t which) {
    if (node.op != Op::Add || node.inputs.size() < 2 || (node.id.stage == Stage::Embedding) != of_embedding) return;
    node.inputs = {node.inputs[which]};
}

}  // namespace

void make_mistake(Mistake mistake, const Config& config, PlanNode& node) {
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
        return replace(node, Op::Softmax, Op::SoftmaxOverQueries);
    case Mistake::MaskAfterSoftmax:
        return mask_late(node);
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
        if (node.has_heads()) replace(node, Op::Linear, Op::LinearByReshape);
        return;
    case Mistake::HeadsJoinedWithoutTranspose:
        return replace(node, Op::JoinHeads, Op::JoinByReshape);
    case Mistake::DropoutLeftOn:
        return replace(node, Op::Dropout, Op::DropoutLeftOn);
    case Mistake::KeysValuesSwapped:
        return swap_keys_and_values(node);
    case Mistake::NoPositions:
        replace(node, Op::Rotate, Op::PassOn);
        return keep_input(node, true, 0);
    case Mistake::NoResidual:
        return keep_input(node, false, 1);
    case Mistake::MissingNorm:
        return pass_norms(node);
    }
}

}  // namespace attn
