#pragma once
/// What the rows of a recorded map see.

#include <optional>
#include <utility>

#include "engine/recording/numbers.hpp"

namespace attn::recording {

/// What masks of finite numbers put in the place of −∞ is below.
inline constexpr double kHidden = -1e8;

/// Which keys the queries of a masked map see, where all heads and sequences agree.
enum class Seen : std::uint8_t {
    OneAhead,         ///< s ≤ t + 1
    NotItself,        ///< s < t
    OnlyAhead,        ///< s ≥ t, or s > t
    FromTheFirstKey,  ///< s ≤ t, although there are more keys than queries
    NothingAhead,     ///< s ≤ t
    Other,
};
/// Hidden are −∞ and numbers below −10⁸. Of fewer than three queries nothing is said if there are as many keys.
Seen pattern_of(const Numbers& masked);

/// Whether each row of the weights sums to 1, within rounding, or is all 0.
bool rows_sum_to_one(const Numbers& weights);
/// The least and the greatest sum of a row that is not all 0; nothing if there is none.
std::optional<std::pair<double, double>> sums_of_rows(const Numbers& weights);
/// Whether a map of weights lost a part of a row, not all of it, to what came after it. Both have the same shape.
bool lost_part_of_a_row(const Numbers& before, const Numbers& after);
/// Whether a mask that hides the same keys from all queries of a text hides all words but one: in every text the keys that are seen are
/// copies of each other, at one of its ends, and in one of several those that are hidden are not. As many copies at the beginning of each
/// of several texts are no padding, but words that stand for the others. `vectors` are those of the words,
/// [B,T,C].
bool sees_copies_only(const Numbers& masked, const Numbers& vectors);
/// Whether a bias falls from each key to the next one by the same number up to the query itself, in every row that has earlier keys.
bool favours_far_keys(const Numbers& bias);
/// A row of a masked map.
struct MapRow {
    std::int64_t text, head, query;
};
/// The first row that sees no key; nothing if every row sees one.
std::optional<MapRow> row_without_keys(const Numbers& masked);
/// Whether a query has weight on a key after it, or before it. False if there are not as many keys as queries.
bool has_weight_ahead(const Numbers& weights);
bool has_weight_behind(const Numbers& weights);
/// The number that stands in one of the two triangles of a square, the diagonal belonging to either, if the other one is 0.
std::optional<double> triangle_of(const Numbers& added);
/// The number that stands at some keys, the same for all queries, if all others have 0 and it is 1 or -1.
std::optional<double> mark_of_keys(const Numbers& added);
/// Whether any two heads have other numbers for the same key.
bool differs_between_heads(const Numbers& added);
/// Whether the keys from `first` on are all the same.
bool later_keys_are_equal(const Numbers& keys, std::int64_t first);

}  // namespace attn::recording
