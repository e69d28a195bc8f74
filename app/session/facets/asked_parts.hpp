#pragma once
/// Parts of a pass that several facets ask for.

#include <cstdint>
#include <memory>
#include <optional>

#include "app/session/facets/ask.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "app/session/values/snapshot.hpp"
#include "app/session/values/statistics.hpp"
#include "engine/plan/stage.hpp"
#include "engine/tensor/tensor.hpp"

namespace attn::app {

/// The pass, or the part of its outline, that holds a stage; as inside_with().
std::shared_ptr<const Snapshot> ask_around(Ask& ask, const StageId& id, std::optional<std::int64_t> head = {},
                                           MapsWanted maps = MapsWanted::Numbers);

/// The pass, or of its outline that part. None: the pass.
std::shared_ptr<const Snapshot> ask_part(Ask& ask, const StateRef& state, const std::shared_ptr<const Snapshot>& pass,
                                         const std::optional<facet::Inside>& part);

/// For a map of an outline, the other stages of the part around it, such as its queries. Asked for if the map cannot be computed a few rows
/// at a time, otherwise null if they are not known.
std::shared_ptr<const Snapshot> ask_queries(Ask& ask, const StateRef& state, const Snapshot& pass, const StageId& map);

/// One sequence of a stage that is held in full, head by head.
struct SequenceOfStage {
    StageId stage;
    std::int64_t sequence = 0;
    std::shared_ptr<const Snapshot> held;
    std::shared_ptr<const Tensor<float>> mean;  ///< over the heads; null if it was not asked for

    /// Negative: the mean. Throws Error if there are no such numbers.
    NumberGrid head(std::int64_t head) const;
};
/// Of a state: `pass` is its pass, `part` the part that holds the stage.
SequenceOfStage ask_sequence(Ask& ask, const StateRef& state, const std::shared_ptr<const Snapshot>& pass, const StageId& stage,
                             std::int64_t sequence, const std::optional<facet::Inside>& part, bool with_mean);

}  // namespace attn::app
