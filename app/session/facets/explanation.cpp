#include "app/session/values/explanation.hpp"

#include <utility>
#include <vector>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/asked_parts.hpp"
#include "app/session/facets/likely_tokens.hpp"
#include "app/session/facets/work.hpp"
#include "engine/explain/explain.hpp"
#include "engine/trace/reduced_map.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {
namespace {

/// For maps that are held reduced: the full row at a cell's position, for every map.
std::vector<ReducedMap> rows_of_maps(const Trace<float>& outline, const Trace<float>& held, const CellRef& cell,
                                     const std::stop_token& stop) {
    std::vector<ReducedMap> rows;
    if (held.reduced.empty() || !cell.parameter.empty()) return rows;
    const std::int64_t positions = held.tokens.length, heads = held.config.num_heads;
    const MapRegion row{cell.index[held.shape_of(cell.stage).rank() == 4 ? 2 : 1], 1, 0, positions, 0};
    std::vector<MapReducer> reducers;
    for (const ReducedMap& map : held.reduced) reducers.emplace_back(map.id, row, heads);
    const auto add = [&](const StageRows<float>& shown) {
        for (std::size_t i = 0; i < reducers.size(); ++i)
            if (held.reduced[i].id == shown.id) reducers[i].add(shown.value, shown.mask, shown.first);
    };
    show_map_rows(outline, held.reduced.front().id, &held, row.first_row, 1, add, stop);
    for (MapReducer& reducer : reducers) rows.push_back(reducer.take());
    return rows;
}

}  // namespace

Job<Explanation> facet::Explanation::make(const Explanation& wanted, Ask& ask) {
    const bool of_stage = wanted.cell.parameter.empty();
    const auto pass = of_stage ? ask.pass_to(wanted.cell.stage) : ask(Trace{});
    const MapsWanted maps = wanted.in_rows ? MapsWanted::Reduced : MapsWanted::Numbers;
    const auto part = of_stage ? ask_around(ask, wanted.cell.stage, wanted.head, maps) : pass;
    return [wanted, pass, part](const Work& work) {
        const CellRef& cell = wanted.cell;
        const attn::Trace<float>& held = *part->trace;
        const std::vector<ReducedMap> rows = rows_of_maps(*pass->trace, held, cell, work.stop);
        Provenance provenance = explain(held, cell, rows);
        ListedTerms listed = listed_terms(provenance);
        return app::Explanation{cell, std::move(provenance), std::move(listed), where_it_goes(held, cell, rows), likely_tokens(held, cell)};
    };
}

}  // namespace attn::app
