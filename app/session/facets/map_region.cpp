#include "app/session/values/map_region.hpp"

#include "app/session/facets/ask.hpp"
#include "app/session/facets/asked_parts.hpp"
#include "app/session/facets/work.hpp"
#include "app/session/values/map_tensors.hpp"
#include "engine/model/changed_map.hpp"

namespace attn::app {
namespace {

/// A map and what it is computed from.
struct AskedMap {
    std::shared_ptr<const Snapshot> pass;
    StageId stage;
    std::shared_ptr<const Snapshot> queries;  ///< null if they are not available
    MapOfOutline map() const { return {*pass->trace, stage, queries == nullptr ? nullptr : queries->trace.get()}; }
};

AskedMap ask_map(Ask& ask, const StateRef& state, const std::shared_ptr<const Snapshot>& pass, const StageId& stage) {
    return {pass, stage, ask_queries(ask, state, *pass, stage)};
}

}  // namespace

Job<ReducedMap> facet::MapRegion::make(const MapRegion& wanted, Ask& ask) {
    const StateRef& minus = wanted.change.minus;
    const auto pass = minus == nullptr ? ask.pass_to(wanted.stage) : ask(Trace{});
    const auto other_pass = minus == nullptr ? nullptr : ask.of(minus, Trace{});
    const AskedMap asked = ask_map(ask, ask.state(), pass, wanted.stage);
    const AskedMap other = minus == nullptr ? AskedMap{} : ask_map(ask, minus, other_pass, wanted.change.minus_stage);
    const auto norms = wanted.change.norm_weighted ? ask(ValueNorms::of(wanted.stage)) : nullptr;
    return [wanted, asked, other, norms](const Work& work) -> Made<ReducedMap> {
        const MapOfOutline map = asked.map();
        const double mib = 4e-6 * static_cast<double>(wanted.region.block_rows() * wanted.region.block_cols()) *
                           static_cast<double>(wanted.head ? 1 : asked.pass->trace->config.num_heads + 1);
        work.expect_room(mib);
        if (wanted.change == MapChange{})
            return {work.engine.region(map.outline, wanted.stage, wanted.region, map.held, wanted.head, work.stop), mib};
        attn::MapChange change;
        change.without_first_key = wanted.change.without_first_key;
        change.norms = norms.get();
        if (other.pass != nullptr) {
            change.minus.emplace(other.map());
            change.minus_head = wanted.change.minus_head;
        }
        return {region_of_changed_map(map, wanted.region, change, wanted.head, work.stop), mib};
    };
}

}  // namespace attn::app
