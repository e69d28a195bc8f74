#pragma once
/// Computes the stages of one part of an outline that are shown, with the statistics of the part's other stages.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "engine/model/layer_in_rows.hpp"
#include "engine/trace/head_scores.hpp"
#include "engine/trace/stage_range.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// Which of a part's stages are wanted, and how.
struct WantedOfPart {
    /// The stages; none: all of the part.
    std::optional<std::vector<StageId>> stages{};
    /// Only this head of attention maps, if the part can be computed in rows (see can_compute_in_rows()); otherwise all.
    std::optional<std::int64_t> head{};
    /// Reduces attention maps to this level (see ReducedMap) instead of recording their numbers; for weights also the mean over heads. Only
    /// if the part can be computed in rows.
    std::optional<int> level{};
    /// With `level`: only the reduced maps, without what the part reads.
    bool maps_alone = false;
    /// Positions computed at a time; see OutlineMemory.
    std::int64_t rows = 0;
    /// Called from time to time with the number of positions whose maps are done, if the part is computed in rows. May be empty.
    std::function<void(std::int64_t done, std::int64_t all)> progress{};
    /// The same part of another text with a common prefix (see positions_kept()), or null. If all stages of both are wanted, only the
    /// differing positions are computed.
    std::shared_ptr<const Trace<float>> before{};
};

struct LookedAtPart {
    Trace<float> trace;                  ///< the wanted stages, and what the part reads
    std::vector<StageRange> ranges;      ///< over all heads, of all stages in `trace` and those computed on the way
    std::vector<HeadScore> head_scores;  ///< of every head of the part
};

/// Computes the part around stage `within`. Throws Error for a stage that the model does not have, Cancelled once `stop` is requested.
LookedAtPart look_at_part(const std::shared_ptr<const Trace<float>>& outline, const StageId& within, const WantedOfPart& wanted = {},
                          std::stop_token stop = {});

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
