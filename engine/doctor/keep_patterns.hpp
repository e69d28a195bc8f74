#pragma once
/// Masks as patterns: the common ones, their typical mistakes, and the one a recording shows.

#include <optional>

#include "engine/doctor/diagnosis.hpp"
#include "engine/doctor/sequence.hpp"

namespace attn::doctor {

/// s <= t + offset for every head.
Keep causal_keep(const Sequence& sizes, std::int64_t offset);
Keep full_keep(const Sequence& sizes);
/// Keys with first <= s < last, for every head and query.
Keep key_range_keep(const Sequence& sizes, std::int64_t first, std::int64_t last);
Keep both(const Keep& a, const Keep& b);
Keep complement(const Keep& a);
bool is_subset(const Keep& a, const Keep& b);

/// For every key, whether any query of any head may attend to it.
std::vector<std::uint8_t> keys_used(const Sequence& sizes, const Keep& keep);
/// Masks that allow only the keys, or only the queries, that are used.
Keep keep_of_keys(const Sequence& sizes, const std::vector<std::uint8_t>& used);
Keep keep_of_queries(const Sequence& sizes, const std::vector<std::uint8_t>& used);

/// All cells on diagonals on which the head has at least one kept cell.
Keep along_diagonals(const Sequence& sizes, const Keep& keep);

/// How many of the cells that are `gone` no mask explains: with several heads those that are not gone in all of them; with one head, of
/// masks that hide whole keys, whole diagonals, or one side of the main diagonal, the mask is taken that explains most.
std::int64_t cells_beside_masks(const Sequence& sizes, const Keep& gone);

/// Where the recorded masked scores or weights are open: cells that are not -inf, or not 0. nullopt if neither is recorded.
std::optional<Keep> observed_keep(const Sequence& sequence);

/// The mistake that a pattern represents by itself, whatever was intended: nobody wants every position to see exactly one later position,
/// everything but itself, or only later positions; nor, if the file says it is causal with more keys than queries, a mask that starts at
/// the first key. nullopt for all other patterns, and for maps too small to tell.
std::optional<Bug> mistaken_pattern(const Sequence& sizes, const Keep& keep);

}  // namespace attn::doctor
