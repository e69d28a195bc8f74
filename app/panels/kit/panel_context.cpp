#include "app/panels/kit/panel_context.hpp"

#include <fmt/format.h>

#include <cmath>

#include "app/session/values/gradients.hpp"

namespace attn::app {

PanelContext PanelContext::at(const Snapshot& other, const States& others) const { return {*this, other, others}; }

std::string PanelContext::computing(std::string_view verb) const {
    return share_computed ? fmt::format("{} {:.0f} %", verb, std::floor(100 * *share_computed)) : std::string(verb);
}

bool PanelContext::wants_gradients() const { return view.gradients && !view.compare.on() && shows_maps(view.view); }

Sight PanelContext::sight() const {
    return {.all_layers = view.view == View::Grid || (view.view == View::Lines && view.lines.all_layers),
            .every_number = view.probability_colors.range == RangeMode::Row || view.signed_colors.range == RangeMode::Row,
            .gradients = wants_gradients()};
}

}  // namespace attn::app
