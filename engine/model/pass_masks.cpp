#include "engine/model/pass_masks.hpp"

#include <algorithm>

#include "engine/attention/mistaken_mask.hpp"

namespace attn {
namespace {

/// All masks of a plan have the same rule, because a mistake is made everywhere.
MaskRule rule_of(const Plan& plan) {
    const auto mask = std::find_if(plan.nodes().begin(), plan.nodes().end(), [](const PlanNode& node) { return node.op == Op::Mask; });
    return mask == plan.nodes().end() ? MaskRule::Right : mask->settings.mask_rule;
}

/// A mask to build in: that of the last pass unless it is still in use elsewhere.
Mask& own(std::shared_ptr<Mask>& mask, MaskForm form) {
    if (mask == nullptr || mask.use_count() > 1 || mask->form() != form) mask = std::make_shared<Mask>(form);
    return *mask;
}

}  // namespace

const std::shared_ptr<const Mask>& PassMasks::of(const StageId& id, std::int64_t window) const {
    if (id.attention == kCrossAttention) return cross;
    if (id.stack == Stack::Encoder) return encoder;
    const auto found = windowed.find(window);
    return found == windowed.end() ? self : found->second;
}

std::set<std::int64_t> windows_of(const Plan& plan) {
    std::set<std::int64_t> windows;
    for (const PlanNode& node : plan.nodes())
        if (knows_mask(node.op) && node.settings.window > 0) windows.insert(node.settings.window);
    return windows;
}

PassMasks masks_behind(const Plan& plan, std::int64_t before, std::int64_t added, MaskForm form) {
    const auto make = [&](std::int64_t window) {
        const auto mask = std::make_shared<Mask>(form);
        mask->assign_rows(1, added, before + added, [&](std::int64_t, std::int64_t t) {
            return Mask::Keys{window == 0 ? 0 : before + t - window + 1, before + t + 1};
        });
        return mask;
    };
    PassMasks masks{make(0), nullptr, nullptr, {}};
    for (const std::int64_t window : windows_of(plan)) masks.windowed[window] = make(window);
    return masks;
}

PassMasks masks_of_rows(const Plan& plan, const MaskSettings& settings, const TokenBatch& tokens, std::int64_t first, std::int64_t count,
                        MaskForm form) {
    const MaskRule rule = rule_of(plan);
    const auto make = [&](std::int64_t window) {
        const auto mask = std::make_shared<Mask>(form);
        build_mask_rows(rule, with_window(settings, window), tokens.lengths, tokens.length, {first, count}, *mask);
        return mask;
    };
    PassMasks masks{make(0), nullptr, nullptr, {}};
    for (const std::int64_t window : windows_of(plan)) masks.windowed[window] = make(window);
    return masks;
}

const PassMasks& MaskBuilder::build(const Plan& plan, const MaskSettings& settings, const TokenBatch& tokens, const TokenBatch* source,
                                    MaskForm form) {
    next_.settings = settings;
    next_.form = form;
    next_.rule = rule_of(plan);
    next_.windows = windows_of(plan);
    next_.lengths = tokens.lengths;
    next_.length = tokens.length;
    if (source != nullptr) {
        next_.source_lengths = source->lengths;
        next_.source_length = source->length;
    }
    if (self_ != nullptr && next_ == key_) return masks_;
    masks_ = {};
    key_.length = -1;  // invalid until all masks are built
    const QueryRows rows{0, next_.length};
    build_mask_rows(next_.rule, settings, next_.lengths, next_.length, rows, own(self_, form));
    if (source != nullptr) {
        const auto build_for = [&](std::int64_t queries, std::shared_ptr<Mask>& mask) {
            build_cross_mask(next_.rule, settings, next_.source_lengths, queries, next_.source_length, own(mask, form));
        };
        build_for(next_.source_length, encoder_);
        build_for(next_.length, cross_);
    }
    masks_ = {self_, cross_, encoder_, {}};
    for (const std::int64_t window : next_.windows) {
        const auto mask = std::make_shared<Mask>(form);
        build_mask_rows(next_.rule, with_window(settings, window), next_.lengths, next_.length, rows, *mask);
        masks_.windowed[window] = mask;
    }
    key_ = next_;
    return masks_;
}

}  // namespace attn
