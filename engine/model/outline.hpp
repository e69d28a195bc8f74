#pragma once
/// Outlines: traces that hold only the residual stream, and keys and values, of every layer. The inside of a layer is recomputed when it is
/// looked at, bit-identical to a trace that holds everything.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "engine/model/layer_in_rows.hpp"
#include "engine/plan/plan.hpp"
#include "engine/trace/tap.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// Limits of an outline.
struct OutlineLimits {
    /// Also hold keys and values, so that a longer text can be continued without recomputing them.
    bool attended = true;
    /// Positions computed at a time where that is possible; 0: as many as fit a few MiB.
    std::int64_t rows = 0;
    /// Stop before the part of the model that contains this stage; complete_outline() goes on from there. None: go through all layers.
    std::optional<StageId> before{};
    /// Told the share that is done, from 0 to 1, of a pass that is computed some positions at a time; from any thread that computes.
    std::function<void(double share)> progress{};
};

/// The stages an outline holds: residual streams, keys and values (if `attended`), and the memory that a decoder attends to.
std::vector<StageId> outline_stages(const Plan& plan, bool attended = true);

inline bool contains(const std::vector<StageId>& stages, const StageId& id) {
    return std::find(stages.begin(), stages.end(), id) != stages.end();
}

/// The stage a decoder attends to; null for a model of one stack.
const StageId* memory_of(const Plan& plan);
/// The place of the node at which an outline with this limit ends; see OutlineLimits.
std::size_t end_of_outline(const Plan& plan, const std::optional<StageId>& before);

/// The outline of trace_forward()'s result. Beyond the outline itself it needs the memory of one layer, or of a few positions of a layer
/// (see LayerInRows). `each` sees every stage as it is computed, which requires computing all positions at once; it may be empty. Stages
/// after the layers are not computed. Throws like trace_forward().
template <class Scalar>
Trace<Scalar> trace_outline(std::shared_ptr<const Parameters<Scalar>> parameters, const TokenBatch& tokens, const TokenBatch& source,
                            const ForwardSettings& settings, const StageObserver<Scalar>& each = {}, std::stop_token stop = {},
                            const OutlineLimits& limits = {});

/// Shows the stages of all layers of an outline for which can_compute_in_rows() is true, some positions at a time; attention maps only
/// where they are edited.
template <class Scalar>
void show_layers_in_rows(const Trace<Scalar>& outline, const RowsObserver<Scalar>& each, std::stop_token stop = {});

/// Whether an outline goes through all layers.
template <class Scalar>
bool is_complete(const Trace<Scalar>& outline);
}  // namespace attn
