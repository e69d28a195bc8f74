#include "engine/attention/mistaken_mask.hpp"

#include <functional>

namespace attn {
namespace {

MaskSettings unpainted(MaskSettings settings) {
    settings.painted.clear();
    return settings;
}

}  // namespace

void build_mask_rows(MaskRule rule, const MaskSettings& settings, const std::vector<std::int64_t>& lengths, std::int64_t positions,
                     QueryRows rows, Mask& mask) {
    const auto moved_end = [&](std::int64_t reach) {
        const auto seen = [&](std::int64_t t, std::int64_t length) { return keys_seen(settings, t, t + 1 + reach, {0, length}); };
        build_mask_rows(settings, lengths, positions, rows, std::cref(seen), mask);
    };
    const auto padded_queries = [&](std::int64_t t, std::int64_t length) {
        return t >= length ? Mask::Keys{} : keys_seen(settings, t, t + 1, {0, positions});
    };
    switch (rule) {
    case MaskRule::Right:
        return build_mask_rows(settings, lengths, positions, rows, mask);
    case MaskRule::Inverted:
        build_mask_rows(settings, lengths, positions, rows, mask);
        return mask.invert();
    case MaskRule::Missing:
        build_mask_rows(
            unpainted(settings), lengths, positions, rows,
            [&](auto, auto) {
                return Mask::Keys{0, positions};
            },
            mask);
        return;
    case MaskRule::LeaksOne:
        return moved_end(1);
    case MaskRule::MasksSelf:
        return moved_end(-1);
    case MaskRule::PaddingOnQueries:
        return build_mask_rows(settings, lengths, positions, rows, std::cref(padded_queries), mask);
    }
}

void build_cross_mask(MaskRule rule, const MaskSettings& settings, const std::vector<std::int64_t>& memory_lengths, std::int64_t queries,
                      std::int64_t keys, Mask& mask) {
    build_cross_mask(settings, memory_lengths, queries, keys, mask);
    if (rule == MaskRule::Inverted) mask.invert();
    if (rule == MaskRule::Missing) mask.assign_rows(mask.batches(), queries, keys, [&](auto, auto) { return Mask::Keys{0, keys}; });
}

}  // namespace attn
