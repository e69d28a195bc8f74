#include "engine/model/pass_masks.hpp"

#include <algorithm>

namespace attn {
namespace {

/// One mistake is made everywhere, so that all masks of a plan have one rule.
MaskRule rule_of(const Plan& plan) {
    const auto mask = std::find_if(plan.nodes().begin(), plan.nodes().end(), [](const PlanNode& node) { return node.op == Op::Mask; });
    return mask == plan.nodes().end() ? MaskRule::Right : mask->settings.mask_rule;
}

/// The mask to build anew in: that of the last pass unless somebody still looks at it.
Mask& own(std::shared_ptr<Mask>& mask) {
    if (mask == nullptr || mask.use_count() > 1) mask = std::make_shared<Mask>();
    return *mask;
}

}  // namespace

const PassMasks& MaskBuilder::build(const Plan& plan, const MaskSettings& settings, const TokenBatch& tokens, const TokenBatch* source) {
    next_.settings = settings;
    next_.rule = rule_of(plan);
    next_.lengths = tokens.lengths;
    next_.length = tokens.length;
    if (source != nullptr) {
        next_.source_lengths = source->lengths;
        next_.source_length = source->length;
    }
    if (self_ != nullptr && next_ == key_) return masks_;
    masks_ = {};
    key_.length = -1;  // until all have been built
    build_mask(settings, next_.lengths, next_.length, own(self_), next_.rule);
    if (source != nullptr) {
        const auto build_for = [&](std::int64_t queries, std::shared_ptr<Mask>& mask) {
            build_cross_mask(settings, next_.source_lengths, queries, next_.source_length, own(mask), next_.rule);
        };
        build_for(next_.source_length, encoder_);
        build_for(next_.length, cross_);
    }
    key_ = next_;
    return masks_ = {self_, cross_, encoder_};
}

}  // namespace attn
