#pragma once
/// Chooses which part of an outline to recompute in order to show a stage.

#include <optional>
#include <vector>

#include "app/session/states/facet.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

/// Memory of a complete stage, MiB.
double mib_of_stage(const Trace<float>& trace, const StageId& id);

/// The most memory, in MiB, that may be held for the keys and values of all layers: negligible compared with the model's parameters. A
/// part's attention maps, and its other stages, may take as much each, but no more than 64 MiB.
double most_beside_model_mib(double parameters_mib);

/// In which form a view needs the attention maps of a long text, whose full numbers would take too much memory.
enum class MapsWanted : std::uint8_t {
    Numbers,
    Reduced,  ///< reduced maps of all heads
    /// For views of all layers, the maps of one stage and nothing else, unless all layers together take little:
    NumbersAlone,
    ReducedAlone,  ///< reduced if their numbers take much
};

/// The part to recompute for a stage of the model. `head`: only this head is needed.
facet::Inside inside_with(const Trace<float>& trace, const StageId& id, std::optional<std::int64_t> head = {},
                          MapsWanted maps = MapsWanted::Numbers);
/// The stages that such a part holds.
std::vector<StageId> stages_of(const facet::Inside& inside, const Trace<float>& trace);
/// Memory of those stages, MiB.
double mib_of(const facet::Inside& inside, const Trace<float>& outline);

/// Peak memory while the part is computed, MiB; includes all its stages unless it can be computed a few positions at a time.
double mib_to_compute(const facet::Inside& inside, const Trace<float>& outline);

/// A lower bound on the multiplications needed to verify the part around a stage: those of its linear maps and its attention.
double products_to_check(const Trace<float>& trace, const StageId& within);

}  // namespace attn::app
