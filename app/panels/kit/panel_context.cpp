#include "app/panels/kit/panel_context.hpp"

#include <fmt/format.h>

#include <cmath>

#include "app/session/values/gradients.hpp"

namespace attn::app {

PanelContext PanelContext::at(const Snapshot& other, const States& others) const { return {*this, other, others}; }

std::string PanelContext::computing(std::string_view verb) const {
    return share_computed ? fmt::format("{} {:.0f} %", verb, std::floor(100 * *share_computed)) : std::string(verb);
}

std::optional<facet::Inside> PanelContext::part_read(const Trace<float>& trace, const StageId& id, std::optional<std::int64_t> head) const {
    if (trace.whole() || trace.plan->find(id) == nullptr) return {};
    return inside_with(trace, id, head, maps_wanted());
}

bool PanelContext::wants_gradients() const { return view.gradients && !view.compare.on() && shows_maps(view.view); }

MapsWanted PanelContext::maps_wanted() const {
    const bool by_row = view.probability_colors.range == RangeMode::Row || view.signed_colors.range == RangeMode::Row;
    const bool all_layers = view.view == View::Grid || (view.view == View::Lines && view.lines.all_layers);
    // Gradients and per-row ranges need every number of a map.
    if ((wants_gradients() && ask(facet::Gradients{})) || by_row) return all_layers ? MapsWanted::NumbersAlone : MapsWanted::Numbers;
    return all_layers ? MapsWanted::ReducedAlone : MapsWanted::Reduced;
}

}  // namespace attn::app
