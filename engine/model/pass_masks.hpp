#pragma once
/// The masks of a pass, built anew only when something about them changes.

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/attention/mask.hpp"
#include "engine/plan/plan.hpp"
#include "engine/tensor/token_batch.hpp"

namespace attn {

/// By what they are about; null where a model has no such attention.
struct PassMasks {
    std::shared_ptr<const Mask> self, cross, encoder;
};

class MaskBuilder {
public:
    /// The masks that the settings mean for these texts under the plan's rule; `source` is null for a model of one stack. Throws as
    /// build_mask() does.
    const PassMasks& build(const Plan& plan, const MaskSettings& settings, const TokenBatch& tokens, const TokenBatch* source);

private:
    struct Key {  ///< what the masks were built from
        MaskSettings settings;
        MaskRule rule = MaskRule::Right;
        std::vector<std::int64_t> lengths, source_lengths;
        std::int64_t length = -1, source_length = -1;
        bool operator==(const Key&) const = default;
    };

    Key key_, next_;
    std::shared_ptr<Mask> self_, cross_, encoder_;
    PassMasks masks_;
};

}  // namespace attn
