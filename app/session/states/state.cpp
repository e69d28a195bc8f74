#include "app/session/states/state.hpp"

#include <algorithm>
#include <utility>

namespace attn::app {
namespace {

State with_forward(const State& state, ForwardSettings forward) {
    Setup setup = *state.setup;
    setup.forward = std::move(forward);
    return {std::make_shared<const Setup>(std::move(setup)), state.source};
}

}  // namespace

bool same_but_for_moment(const State& older, const State& newer) {
    const MomentOfRun *a = moment_of(older), *b = moment_of(newer);
    return a != nullptr && b != nullptr && a->run == b->run && (older.setup == newer.setup || *older.setup == *newer.setup);
}

std::optional<State> without_edits(const State& state) {
    ForwardSettings forward = state.setup->forward;
    if (std::none_of(forward.edits.begin(), forward.edits.end(), [](const Edit& edit) { return edit.on; })) return {};
    forward.edits.clear();
    return with_forward(state, std::move(forward));
}

ForwardSettings without_masks(ForwardSettings forward) {
    forward.masks = {};
    forward.masks.padding = false;
    forward.dropout = {};
    forward.temperature = ForwardSettings().temperature;
    return forward;
}

State without_masks(const State& state) { return with_forward(state, without_masks(state.setup->forward)); }

std::optional<State> without_mistake(const State& state) {
    ForwardSettings forward = state.setup->forward;
    if (!forward.mistaken()) return {};
    forward.mistake = Mistake::None;
    return with_forward(state, std::move(forward));
}

StateRef StateTable::find(State state) {
    std::erase_if(known_, [](const auto& known) { return known.expired(); });
    for (const auto& known : known_)
        if (StateRef same = known.lock(); same != nullptr && *same == state) return same;
    StateRef added = std::make_shared<const State>(std::move(state));
    known_.push_back(added);
    return added;
}

}  // namespace attn::app
