#pragma once
/// A region of an attention map of a long text.

#include <cstdint>
#include <optional>

#include "app/session/states/state.hpp"
#include "app/session/values/facet.hpp"
#include "engine/plan/stage.hpp"
#include "engine/trace/reduced_map.hpp"

namespace attn::app {
namespace facet {

/// How a slice is transformed before it is drawn; see attn::MapChange and ChangedSlice.
struct MapChange {
    bool without_first_key = false, norm_weighted = false;
    StateRef minus{};  ///< subtract this state's map; null: subtract nothing
    StageId minus_stage{};
    std::optional<std::int64_t> minus_head{};
    void move(const StateRef& from, const StateRef& to) {
        if (minus != nullptr && minus == from) minus = to;
    }
    bool operator==(const MapChange&) const = default;
};

/// A region of an attention map of a long text, for one head or for all.
struct MapRegion {
    using Value = ReducedMap;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};  // kept by the desk that draws it
    StageId stage;
    attn::MapRegion region;
    std::optional<std::int64_t> head{};
    MapChange change{};
    MapRegion moved(const StateRef& from, const StateRef& to) const {
        MapRegion moved = *this;
        moved.change.move(from, to);
        return moved;
    }
    static Job<Value> make(const MapRegion&, Ask& ask);
    bool operator==(const MapRegion&) const = default;
};

}  // namespace facet
}  // namespace attn::app
