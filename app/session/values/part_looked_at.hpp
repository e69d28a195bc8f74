#pragma once
/// Chooses which part of an outline to recompute in order to show a stage.

#include <cstdint>
#include <optional>
#include <vector>

#include "app/session/values/facet.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/plan/stage.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

/// The halves in which a large layer is computed.
enum class LayerHalf : std::uint8_t { Attention, FeedForward };

namespace facet {

/// One part of the model (see Plan::part_around), recomputed from an outline. If the trace is whole, the trace itself.
struct Inside {
    using Value = Snapshot;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    StageId first;  ///< first stage of the part
    /// Long texts only: keep just this attention map (named as in self-attention), the map it is computed from, and the weights. None: keep
    /// all maps.
    std::optional<Stage> map{};
    /// Keep the maps of this head only. None: all heads.
    std::optional<std::int64_t> head{};
    /// Keep only the stages before the layer's feed-forward network, or only those of the feed-forward network. None: both.
    std::optional<LayerHalf> half{};
    /// Long texts only: keep the maps of all heads reduced to this level (see ReducedMap). None: keep the full maps.
    std::optional<int> level{};
    /// With `map`: keep that map and no other stage.
    bool maps_alone = false;
    static Job<Value> make(const Inside&, Ask& ask);
    bool operator==(const Inside&) const = default;
};

}  // namespace facet

/// Memory of a complete stage, MiB.
double mib_of_stage(const Trace<float>& trace, const StageId& id);

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
