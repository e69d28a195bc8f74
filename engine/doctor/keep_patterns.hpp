#pragma once
/// Masks as patterns: the well-known ones, their typical mistakes, and which of them a recording shows.

#include <optional>

#include "engine/doctor/diagnosis.hpp"
#include "engine/doctor/sequence.hpp"

namespace attn::doctor {

/// s <= t + offset for every head.
Keep causal_keep(const Sequence& sizes, std::int64_t offset);
Keep full_keep(const Sequence& sizes);
/// Keys s with first <= s < last, for every head and query.
Keep key_range_keep(const Sequence& sizes, std::int64_t first, std::int64_t last);
Keep both(const Keep& a, const Keep& b);
Keep complement(const Keep& a);
bool is_subset(const Keep& a, const Keep& b);

/// For every key, whether some query of some head may attend to it.
std::vector<std::uint8_t> keys_used(const Sequence& sizes, const Keep& keep);
/// The pattern for keys or queries that are used.
Keep keep_of_keys(const Sequence& sizes, const std::vector<std::uint8_t>& used);
Keep keep_of_queries(const Sequence& sizes, const std::vector<std::uint8_t>& used);

/// Every cell on whose diagonal some cell of its head is kept.
Keep along_diagonals(const Sequence& sizes, const Keep& keep);

/// Where masked scores or weights of the recording leave room: cells that are not -inf, or not 0. Nothing when neither is recorded.
std::optional<Keep> observed_keep(const Sequence& sequence);

/// The mistake that a pattern is by itself, whatever was meant: nobody wants every position to see exactly one later position,
/// everything but itself, or only what comes later; nor, where the file says that more keys than queries are causal, a mask that starts at
/// the first key. Nothing for all other patterns and for maps too small to tell.
std::optional<Bug> mistaken_pattern(const Sequence& sizes, const Keep& keep);

}  // namespace attn::doctor
