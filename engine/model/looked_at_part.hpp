#pragma once
/// What is looked at of one part of an outline, and what is known of the rest of the part, which is computed on the way.

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "engine/trace/head_scores.hpp"
#include "engine/trace/stage_range.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

struct WantedOfPart {
    /// None: all stages of the part.
    std::optional<std::vector<StageId>> stages{};
    /// Of attention maps this head alone, where the part can be computed some positions at a time (see can_compute_in_rows()); else all.
    std::optional<std::int64_t> head{};
    /// As in OutlineMemory.
    std::int64_t rows = 0;
    /// The same part of another text that begins alike (see positions_kept()): where all stages of both are wanted, only what differs is
    /// computed. May be null.
    std::shared_ptr<const Trace<float>> before{};
};

struct LookedAtPart {
    Trace<float> trace;                  ///< the stages that are wanted, and what the part reads
    std::vector<StageRange> ranges;      ///< over all heads: of what `trace` has and of what was computed on the way
    std::vector<HeadScore> head_scores;  ///< of every head of the part
};

/// The part around a stage. Throws Error for a stage that the model does not have, Cancelled once `stop` is requested.
LookedAtPart look_at_part(const std::shared_ptr<const Trace<float>>& outline, const StageId& within, const WantedOfPart& wanted = {},
                          std::stop_token stop = {});

}  // namespace attn
