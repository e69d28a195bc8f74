#pragma once
/// Which cells may attend, derived cell by cell from the settings; shares no code with engine/attention.

#include <cstdint>
#include <vector>

#include "engine/attention/mask.hpp"
#include "engine/plan/mask_rule.hpp"

namespace attn::reference {

/// keep[b,h,t,s] = 1 if query t may attend to key s; `bias` (empty: none) is added to the scaled scores there. `batches` and `heads` are 1
/// if every sequence or head has the same permissions.
struct Permissions {
    std::int64_t batches = 1, heads = 1, queries = 0, keys = 0;
    std::vector<std::uint8_t> keep;
    std::vector<double> bias;

    bool may_attend(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t s) const { return keep[at(b, h, t, s)] != 0; }
    double added(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t s) const { return bias.empty() ? 0 : bias[at(b, h, t, s)]; }

    std::size_t at(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t s) const {
        const std::int64_t row = ((batches == 1 ? 0 : b) * heads + (heads == 1 ? 0 : h)) * queries + t;
        return static_cast<std::size_t>(row * keys + s);
    }
};

/// Self-attention of queries [first, first + count) over lengths.size() sequences padded to `positions`.
Permissions self_permissions(const MaskSettings& settings, const std::vector<std::int64_t>& lengths, std::int64_t positions,
                             std::int64_t first, std::int64_t count, MaskRule rule);
/// Every query may attend to every key.
Permissions everything_allowed(std::int64_t queries, std::int64_t keys);
/// Permissions where only padding of the keys matters: encoder self-attention, and cross-attention.
Permissions padding_permissions(const MaskSettings& settings, const std::vector<std::int64_t>& key_lengths, std::int64_t queries,
                                std::int64_t keys, MaskRule rule = MaskRule::Right);

}  // namespace attn::reference
