#pragma once
/// The masks of a pass, rebuilt only when their inputs change.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "engine/attention/mask.hpp"
#include "engine/plan/plan.hpp"
#include "engine/tensor/token_batch.hpp"

namespace attn {

/// The masks by kind of attention; null if the model has no such attention.
struct PassMasks {
    std::shared_ptr<const Mask> self, cross, encoder;
    /// For self-attention with a sliding window, by its width.
    std::map<std::int64_t, std::shared_ptr<const Mask>> windowed{};

    /// The mask of the attention that a stage belongs to; `window` is its sliding window, 0 for none.
    const std::shared_ptr<const Mask>& of(const StageId& id, std::int64_t window) const;
};

/// The sliding windows of a plan's self-attentions.
std::set<std::int64_t> windows_of(const Plan& plan);
/// Masks for `added` positions after the first `before` of one text, under the causal mask and the plan's windows.
PassMasks masks_behind(const Plan& plan, std::int64_t before, std::int64_t added, MaskForm form = MaskForm::Cells);
/// Masks for positions [first, first + count) of one text, under the settings and the plan's rule and windows.
PassMasks masks_of_rows(const Plan& plan, const MaskSettings& settings, const TokenBatch& tokens, std::int64_t first, std::int64_t count,
                        MaskForm form = MaskForm::Cells);

class MaskBuilder {
public:
    /// The masks of these settings and texts under the plan's rule; `source` is null for a model of one stack. Throws like build_mask().
    const PassMasks& build(const Plan& plan, const MaskSettings& settings, const TokenBatch& tokens, const TokenBatch* source,
                           MaskForm form = MaskForm::Cells);

private:
    struct Key {  ///< what the masks were built from
        MaskSettings settings;
        MaskRule rule = MaskRule::Right;
        MaskForm form = MaskForm::Cells;
        std::set<std::int64_t> windows;
        std::vector<std::int64_t> lengths, source_lengths;
        std::int64_t length = -1, source_length = -1;
        bool operator==(const Key&) const = default;
    };

    Key key_, next_;
    std::shared_ptr<Mask> self_, cross_, encoder_;
    PassMasks masks_;
};

}  // namespace attn
