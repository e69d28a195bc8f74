#pragma once
/// Which part of an outline a stage is looked at in.

#include <optional>
#include <vector>

#include "app/session/states/facet.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

/// What a stage takes as a whole, MiB.
double mib_of_stage(const Trace<float>& trace, const StageId& id);

/// Of a part more than this of attention maps, and more than this of other stages, is not held at once; of keys and values of all layers
/// neither. MiB: what hardly counts beside the model itself.
double most_beside_model_mib(double parameters_mib);

/// What whoever asks wants of the attention maps of a long text, where their numbers would take much.
enum class MapsWanted : std::uint8_t {
    Numbers,
    Reduced,       ///< the maps of all heads, reduced
    ReducedAlone,  ///< those of one stage and nothing else: for views of all layers
};

/// The part around a stage that the model has. `head`: whoever asks looks at this head alone.
facet::Inside inside_with(const Trace<float>& trace, const StageId& id, std::optional<std::int64_t> head = {},
                          MapsWanted maps = MapsWanted::Numbers);
/// The stages that it holds.
std::vector<StageId> stages_of(const facet::Inside& inside, const Trace<float>& trace);
/// What they take, MiB.
double mib_of(const facet::Inside& inside, const Trace<float>& outline);

/// What it takes while it is computed, MiB: all stages of the part beside it, where that cannot be computed some positions at a time.
double mib_to_compute(const facet::Inside& inside, const Trace<float>& outline);

/// So many products of two numbers does checking the part around a stage take, at least: those of its linear maps and of its attention.
double products_to_check(const Trace<float>& trace, const StageId& within);

}  // namespace attn::app
