#include "app/session/values/difference.hpp"

#include <algorithm>
#include <cmath>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/work.hpp"
#include "engine/model/replaced_parts.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {
namespace {

/// Compares from the last stage backwards, because any difference nearly always shows in the last one.
bool same_stages(const Trace<float>& a, const Trace<float>& b) {
    return std::equal(a.stages.rbegin(), a.stages.rend(), b.stages.rbegin(), b.stages.rend(), [](const auto& one, const auto& other) {
        const auto left = one.value.values(), right = other.value.values();
        return std::equal(left.begin(), left.end(), right.begin(), right.end());
    });
}

bool same_numbers(const Trace<float>& a, const Trace<float>& b) {
    if (!same_stages(a, b)) return false;
    return (a.whole() && b.whole()) || a.settings == b.settings || (!edits_behind_layers(a) && !edits_behind_layers(b));
}

bool same_stage(const RecordedStage<float>& a, const RecordedStage<float>& b) {
    const auto same = [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); };
    const auto left = a.value.values(), right = b.value.values();
    return a.value.shape() == b.value.shape() && std::equal(left.begin(), left.end(), right.begin(), right.end(), same);
}

/// The first stage of `a` that `b` does not have or has with other numbers.
std::optional<StageId> first_difference(const Trace<float>& a, const Trace<float>& b) {
    for (const RecordedStage<float>& stage : a.stages)
        if (const RecordedStage<float>* other = b.find(stage.id); other == nullptr || !same_stage(stage, *other)) return stage.id;
    return {};
}

}  // namespace

Job<bool> facet::SameNumbers::make(const SameNumbers& wanted, Ask& ask) {
    const auto pass = ask(Trace{}), other = ask.of(wanted.other, Trace{});
    return [pass, other](const Work&) { return Made<bool>(same_numbers(*pass->trace, *other->trace)); };
}

Job<std::optional<StageId>> facet::FirstDifference::make(const FirstDifference& wanted, Ask& ask) {
    const auto pass = ask(Trace{}), other = ask.of(wanted.other, Trace{});
    return [pass, other](const Work&) { return first_difference(*pass->trace, *other->trace); };
}

}  // namespace attn::app
