#pragma once
/// Masks of attention code that makes a mistake on purpose.

#include <cstdint>
#include <vector>

#include "engine/attention/mask.hpp"
#include "engine/plan/mask_rule.hpp"

namespace attn {

/// build_mask_rows() under a rule.
void build_mask_rows(MaskRule rule, const MaskSettings& settings, const std::vector<std::int64_t>& lengths, std::int64_t positions,
                     QueryRows rows, Mask& mask);
/// build_cross_mask() under a rule; rules about causality or padded queries do not change it.
void build_cross_mask(MaskRule rule, const MaskSettings& settings, const std::vector<std::int64_t>& memory_lengths, std::int64_t queries,
                      std::int64_t keys, Mask& mask);

}  // namespace attn
