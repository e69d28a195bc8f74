#pragma once
/// Computes the stages of one part of an outline that are shown, with the statistics of the part's other stages.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <variant>
#include <vector>

#include "engine/model/layer_in_rows.hpp"
#include "engine/trace/head_scores.hpp"
#include "engine/trace/stage_range.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// All stages of a part.
struct WholePart {
    /// The same part of another text with a common prefix (see positions_kept()), so that only the differing positions are computed; or
    /// null.
    std::shared_ptr<const Trace<float>> before{};
};
/// Some stages of a part, or one head of its attention maps.
struct NumbersOfPart {
    std::optional<std::vector<StageId>> stages{};  ///< none: all of the part
    /// Only this head of attention maps, if the text is long and can_compute_in_rows(); otherwise all.
    std::optional<std::int64_t> head{};
};
/// Stages of a part, with attention maps reduced to a level (see ReducedMap) instead of their numbers; for weights also the mean over
/// heads. Like NumbersOfPart unless can_compute_in_rows().
struct ReducedPart {
    int level = 0;
    std::optional<std::vector<StageId>> stages{};  ///< none: all of the part
};
/// Only these maps of a part, without what the part reads; reduced as in ReducedPart if `level` is given.
struct MapsAlone {
    std::vector<StageId> maps;
    std::optional<int> level{};
};
/// What is wanted of a part.
using WantedOfPart = std::variant<WholePart, NumbersOfPart, ReducedPart, MapsAlone>;

/// How a part is computed if can_compute_in_rows().
struct PartInRows {
    /// Positions computed at a time; see OutlineLimits.
    std::int64_t rows = 0;
    /// Called from time to time with the number of positions whose maps are done. May be empty.
    std::function<void(std::int64_t done, std::int64_t all)> progress{};
};

struct LookedAtPart {
    Trace<float> trace;                  ///< the wanted stages, and what the part reads
    std::vector<StageRange> ranges;      ///< over all heads, of all stages in `trace` and those computed on the way
    std::vector<HeadScore> head_scores;  ///< of every head of the part
};

/// Computes the part around stage `within`. Throws Error for a stage that the model does not have, Cancelled once `stop` is requested.
LookedAtPart look_at_part(const std::shared_ptr<const Trace<float>>& outline, const StageId& within,
                          const WantedOfPart& wanted = WholePart{}, const PartInRows& in_rows = {}, std::stop_token stop = {});

/// Shows rows [first, first + count) of all maps of the attention around `within`, some at a time; bit-identical to a pass over all
/// positions. `held` is what is already known of the part, may be null. Throws Error if the part cannot be computed in rows, Cancelled once
/// `stop` is requested.
void show_map_rows(const Trace<float>& outline, const StageId& within, const Trace<float>* held, std::int64_t first, std::int64_t count,
                   const RowsObserver<float>& each, std::stop_token stop = {});
/// What these maps and the stages after them are computed from; pass it as `held` to repeated calls.
Trace<float> read_by_maps(const Trace<float>& outline, const StageId& within, std::stop_token stop = {});
/// A region of one map: of one head, or of all heads and, for weights, their mean.
ReducedMap region_of_map(const Trace<float>& outline, const StageId& id, const MapRegion& region, const Trace<float>* held,
                         std::optional<std::int64_t> only_head, std::stop_token stop = {});
/// Whether the mean over heads is meaningful: true for weights.
bool has_mean_map(Stage stage);

}  // namespace attn
