#pragma once
/// What is looked at of one part of an outline, and what is known of the rest of the part, which is computed on the way.

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

struct WantedOfPart {
    /// None: all stages of the part.
    std::optional<std::vector<StageId>> stages{};
    /// Of attention maps this head alone, where the part can be computed some positions at a time (see can_compute_in_rows()); else all.
    std::optional<std::int64_t> head{};
    /// Of attention maps not their numbers, but all of each map reduced to this level (see ReducedMap); of weights that of their mean, too.
    /// Where the part can be computed some positions at a time only.
    std::optional<int> level{};
    /// With `level`: nothing but the reduced maps, not even what the part reads.
    bool maps_alone = false;
    /// As in OutlineMemory.
    std::int64_t rows = 0;
    /// Told how many positions' maps are done of how many, now and then; where the part is computed some positions at a time. May be empty.
    std::function<void(std::int64_t done, std::int64_t all)> progress{};
    /// The same part of another text that begins alike (see positions_kept()): where all stages of both are wanted, only what differs is
    /// computed. May be null.
    std::shared_ptr<const Trace<float>> before{};
};

struct LookedAtPart {
    Trace<float> trace;                  ///< the stages that are wanted, and what the part reads
    std::vector<StageRange> ranges;      ///< over all heads: of what `trace` has and of what was computed on the way
    std::vector<HeadScore> head_scores;  ///< of every head of the part
};

/// Whether the parts of an outline can be computed some positions at a time.
bool can_look_in_rows(const Trace<float>& outline);

/// The part around a stage. Throws Error for a stage that the model does not have, Cancelled once `stop` is requested.
LookedAtPart look_at_part(const std::shared_ptr<const Trace<float>>& outline, const StageId& within, const WantedOfPart& wanted = {},
                          std::stop_token stop = {});

/// Shows the rows [first, first + count) of all maps of an attention of an outline, some at a time; bits as those of a pass over all
/// positions. `held`: what is known of the part, may be null. Throws Error where the part cannot be computed so, Cancelled once `stop` is
/// requested.
void show_map_rows(const Trace<float>& outline, const StageId& within, const Trace<float>* held, std::int64_t first, std::int64_t count,
                   const RowsObserver<float>& each, std::stop_token stop = {});
/// What these maps and what comes behind them are computed from, for many such calls.
Trace<float> read_by_maps(const Trace<float>& outline, const StageId& within, std::stop_token stop = {});
/// A region of one of them: of one head, or of all and, of weights, of their mean.
ReducedMap region_of_map(const Trace<float>& outline, const StageId& id, const MapRegion& region, const Trace<float>* held,
                         std::optional<std::int64_t> only_head, std::stop_token stop = {});
/// Weights have a mean over their heads that says something.
bool has_mean_map(Stage stage);

}  // namespace attn
