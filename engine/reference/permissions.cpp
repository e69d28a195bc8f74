#include "engine/reference/permissions.hpp"

#include <cstdlib>

namespace attn::reference {
namespace {

bool painted(const MaskSettings& settings, std::int64_t t, std::int64_t s) {
    for (const PaintedCell& cell : settings.painted)
        if (cell.query == t && cell.key == s) return true;
    return false;
}

/// The last key that a causal mask allows query t to see.
std::int64_t last_key(std::int64_t t, MaskRule rule) {
    if (rule == MaskRule::LeaksOne) return t + 1;
    if (rule == MaskRule::MasksSelf) return t - 1;
    return t;
}

/// Whether all settings but padding allow query t to attend to key s.
bool pattern_allows(const MaskSettings& settings, std::int64_t t, std::int64_t s, MaskRule rule) {
    if (settings.causal && s > last_key(t, rule) && s >= settings.prefix) return false;
    if (settings.window > 0 && std::abs(t - s) >= settings.window) return false;
    if (settings.block > 0 && t / settings.block != s / settings.block) return false;
    return !painted(settings, t, s);
}

bool ruled(bool allowed, MaskRule rule) {
    if (rule == MaskRule::Inverted) return !allowed;
    return allowed || rule == MaskRule::Missing;
}

Permissions empty_permissions(std::size_t batches, std::int64_t queries, std::int64_t keys) {
    Permissions out;
    out.batches = static_cast<std::int64_t>(batches);
    out.queries = queries;
    out.keys = keys;
    out.keep.resize(batches * static_cast<std::size_t>(queries * keys));
    return out;
}

}  // namespace

Permissions everything_allowed(std::int64_t queries, std::int64_t keys) {
    Permissions out = empty_permissions(1, queries, keys);
    for (std::uint8_t& cell : out.keep) cell = 1;
    return out;
}

Permissions self_permissions(const MaskSettings& settings, const std::vector<std::int64_t>& lengths, std::int64_t positions,
                             std::int64_t first, std::int64_t count, MaskRule rule) {
    Permissions out = empty_permissions(lengths.size(), count, positions);
    for (std::int64_t b = 0; b < out.batches; ++b)
        for (std::int64_t t = first; t < first + count; ++t)
            for (std::int64_t s = 0; s < positions; ++s) {
                const std::int64_t padded = rule == MaskRule::PaddingOnQueries ? t : s;
                const bool is_padding = settings.padding && padded >= lengths[static_cast<std::size_t>(b)];
                out.keep[out.at(b, 0, t - first, s)] = ruled(!is_padding && pattern_allows(settings, t, s, rule), rule);
            }
    return out;
}

Permissions padding_permissions(const MaskSettings& settings, const std::vector<std::int64_t>& key_lengths, std::int64_t queries,
                                std::int64_t keys, MaskRule rule) {
    Permissions out = empty_permissions(key_lengths.size(), queries, keys);
    for (std::int64_t b = 0; b < out.batches; ++b)
        for (std::int64_t t = 0; t < queries; ++t)
            for (std::int64_t s = 0; s < keys; ++s)
                out.keep[out.at(b, 0, t, s)] = ruled(!settings.padding || s < key_lengths[static_cast<std::size_t>(b)], rule);
    return out;
}

}  // namespace attn::reference
