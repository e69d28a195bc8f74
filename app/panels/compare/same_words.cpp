#include <fmt/format.h>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/kit/stage_words.hpp"
#include "app/session/values/difference.hpp"

namespace attn::app {
namespace {

/// What makes A and B differ where they are one state.
std::string_view what_to_change(Compare source) {
    switch (source) {
    case Compare::Itself:
        return "Choose another layer, head or text for A.";
    case Compare::Unmasked:
        return "Switch on a mask or dropout, or change the temperature.";
    case Compare::Moment:
        return "Choose another step for A.";
    case Compare::Off:
    case Compare::Plain:
    case Compare::Correct:
    case Compare::Pinned:
    case Compare::PinnedB:
        return "Change the text, a mask or a number.";
    }
    return "";
}

std::string stage_in_layer(const PanelContext& context, const StageId& id) {
    const std::string title = stage_title(id, token_noun(context.snapshot));
    return id.layer < 0 ? fmt::format("“{}”", title) : fmt::format("“{}” in layer {}", title, id.layer);
}

bool holds_all_stages(const ComparedSide& side) { return !side.empty() && side.of.snapshot->is_whole(); }

}  // namespace

std::string words_of_one_state(const PanelContext& context) {
    return fmt::format("A and B are the same, so every difference is 0. {}", what_to_change(context.view.compare.source));
}

std::string why_same(const PanelContext& context, const ComparedSides& sides) {
    const auto& [a, b, first_name, second_name] = sides;
    if (is_same(a, b)) return words_of_one_state(context);
    if (!holds_all_stages(a) || !holds_all_stages(b) || a.stage != b.stage || a.head != b.head || a.batch != b.batch) return "";
    const StateRef& shown = context.states.shown;
    const auto first = context.ask(facet::FirstDifference{a.of.state == shown ? b.of.state : a.of.state});
    if (!first) return "";
    if (!*first) return "A and B have the same numbers in every stage.";
    const Plan& plan = *context.structure().plan;
    // The nodes are in order of computation.
    const PlanNode *here = plan.find(b.stage), *there = plan.find(**first);
    if (here == nullptr || there == nullptr || here >= there) return "";
    return fmt::format("A and B do not differ here. The first stage in which they do is {}.", stage_in_layer(context, **first));
}

}  // namespace attn::app
