#include "app/panels/panel_context.hpp"

namespace attn::app {
namespace {

/// Its maps are there as numbers alone.
bool is_computed_at_once(const StateRef& state) {
    if (state == nullptr) return false;
    const ForwardSettings& forward = state->setup->forward;
    return !forward.edits.empty() || forward.dropout.attention > 0 || forward.dropout.residual > 0 || forward.dropout.embedding > 0;
}

}  // namespace

MapsWanted PanelContext::maps_wanted() const {
    const bool by_row = view.probability_colors.range == RangeMode::Row || view.signed_colors.range == RangeMode::Row;
    // A difference is of numbers, or of maps that are both reduced.
    const bool compares_numbers = view.compare.on() && (is_computed_at_once(states.shown) || is_computed_at_once(states.pinned_a) ||
                                                        is_computed_at_once(states.pinned_b));
    // Gradients and the ranges of rows are of every number of a map.
    if ((view.gradients && ask(facet::Gradients{})) || by_row || compares_numbers) return MapsWanted::Numbers;
    const bool all_layers = view.view == View::Grid || (view.view == View::Lines && view.lines.all_layers);
    return all_layers ? MapsWanted::ReducedAlone : MapsWanted::Reduced;
}

}  // namespace attn::app
