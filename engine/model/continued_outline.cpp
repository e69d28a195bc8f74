#include "engine/model/continued_outline.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "engine/model/model_pass.hpp"
#include "engine/model/outline.hpp"
#include "engine/model/recomputation.hpp"
#include "engine/model/rest_of_text.hpp"
#include "engine/model/text_rules.hpp"

namespace attn {
namespace {

/// Whether the outline has the keys and values of every layer.
template <class Scalar>
bool holds_attended(const Trace<Scalar>& outline) {
    const std::vector<StageId> all = outline_stages(*outline.plan);
    return std::all_of(all.begin(), all.end(), [&](const StageId& id) { return outline.find(id) != nullptr; });
}

/// Recomputes keys and values of the kept positions, for outlines that do not hold them.
template <class Scalar>
class AttendedAgain {
public:
    AttendedAgain(const Trace<Scalar>& outline, const Weights& weights, std::int64_t kept, const std::stop_token& stop)
        : outline_(outline), kept_(kept), layer_(*outline.plan, weights, outline.settings, outline.tokens, stop) {}

    const Tensor<Scalar>& operator()(const StageId& id) {
        const Plan& plan = *outline_.plan;
        const PlanPart part = plan.part_around(id);
        if (part_ != part.first) {
            before_ = layer_.before_maps(part, outline_.find(*part.stream)->value, kept_, rows_at_a_time(outline_.config, kept_));
            part_ = part.first;
        }
        return before_[static_cast<std::size_t>(&plan.at(id) - &plan.nodes()[part.first])];
    }

private:
    const Trace<Scalar>& outline_;
    std::int64_t kept_;
    LayerInRows<Scalar> layer_;
    std::vector<Tensor<Scalar>> before_;
    std::size_t part_ = 0;  ///< first node of the part that `before_` belongs to
};

/// The place of the first stage of an outline that a begun one lacks, or the end of the layers.
template <class Scalar>
std::size_t first_missing(const Trace<Scalar>& begun) {
    const Plan& plan = *begun.plan;
    const std::vector<StageId> always_held = outline_stages(plan, false);
    for (std::size_t place = 0; place < plan.end_of_layers(); ++place)
        if (const StageId& id = plan.nodes()[place].id; contains(always_held, id) && begun.find(id) == nullptr) return place;
    return plan.end_of_layers();
}

/// Continues an outline, or completes the begun outline of a longer text, up to node `end`.
template <class Scalar>
Trace<Scalar> continued(const Trace<Scalar>& outline, const TokenBatch& tokens, std::int64_t kept, const Trace<Scalar>* begun,
                        std::size_t end, std::stop_token stop) {
    Trace<Scalar> out{{outline.config, outline.plan, outline.settings, tokens, {}}, outline.parameters, {}, {}};
    const Plan& plan = *out.plan;
    const std::vector<StageId> all = outline_stages(plan);
    const Weights weights(*out.parameters);
    AttendedAgain<Scalar> again(outline, weights, kept, stop);
    const Form form = can_leave_out_maps(plan, out.settings) ? Form::Outlined : Form::Staged;
    Program<Scalar> program(plan, weights, form, Keep::OneLayer);
    RestOfText<Scalar> rest(program, out.settings, kept, std::span(tokens.ids).subspan(static_cast<std::size_t>(kept)), std::move(stop));
    std::size_t next = 0;
    if (begun != nullptr) {
        out.stages = begun->stages;
        const PlanPart part = plan.part_around(plan.nodes()[first_missing(*begun)].id);
        next = part.first;
        if (part.stream && kept < tokens.length) rest.give(program.place(*part.stream), begun->find(*part.stream)->value);
    }
    for (std::size_t place = next; place < end; ++place) {
        const StageId& id = plan.nodes()[place].id;
        if (!contains(all, id)) continue;
        const RecordedStage<Scalar>* before = outline.find(id);
        if (before == nullptr && kept == tokens.length) continue;
        rest.forward(std::exchange(next, place + 1), place + 1);
        Tensor<Scalar> whole = rest.joined(before == nullptr ? again(id) : before->value, place);
        if (is_attended(plan, id)) program.value(place) = whole;  // the layer goes on with all keys and values
        if (before != nullptr) out.stages.push_back({id, std::move(whole)});
    }
    return out;
}

}  // namespace

template <class Scalar>
std::int64_t positions_kept(const Trace<Scalar>& outline, const TokenBatch& tokens) {
    const TokenBatch& before = outline.tokens;
    if (!is_one_text(before) || !is_one_text(tokens) || !prefix_stays(outline.config, outline.settings)) return 0;
    if (!same_frequencies(*outline.plan, before.length, tokens.length)) return 0;
    // Keys and values that the outline does not hold are recomputed for the first positions alone.
    if (!holds_attended(outline) && !can_compute_in_rows(outline)) return 0;
    return std::mismatch(before.ids.begin(), before.ids.end(), tokens.ids.begin(), tokens.ids.end()).first - before.ids.begin();
}

template <class Scalar>
Trace<Scalar> continue_outline(const Trace<Scalar>& outline, const TokenBatch& tokens, std::stop_token stop,
                               const std::optional<StageId>& before) {
    require_batch(outline.config, tokens, {});
    const std::int64_t kept = positions_kept(outline, tokens);
    // Most of a long text is computed some positions at a time instead.
    const std::int64_t added = tokens.length - kept;
    if (kept == 0 || (added > kept && added > rows_at_a_time(outline.config, tokens.length).products))
        return trace_outline<Scalar>(outline.parameters, tokens, {}, outline.settings, {}, stop, {holds_attended(outline), 0, before});
    return continued<Scalar>(outline, tokens, kept, nullptr, end_of_outline(*outline.plan, before), std::move(stop));
}

template <class Scalar>
Trace<Scalar> complete_outline(std::shared_ptr<const Trace<Scalar>> begun, bool attended, const Trace<Scalar>* known,
                               std::stop_token stop) {
    const Plan& plan = *begun->plan;
    const std::size_t missing = first_missing(*begun);
    if (missing == plan.end_of_layers()) return *begun;
    const std::int64_t kept = known == nullptr ? 0 : positions_kept(*known, begun->tokens);
    if (kept > 0) return continued(*known, begun->tokens, kept, begun.get(), plan.end_of_layers(), std::move(stop));
    const std::size_t place = plan.part_around(plan.nodes()[missing].id).first;
    return Recomputation<Scalar>(begun, Keep::OneLayer)
        .outline_from(place, begun->settings, outline_stages(plan, attended), std::move(stop));
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template std::int64_t positions_kept<Scalar>(const Trace<Scalar>&, const TokenBatch&);                                                 \
    template Trace<Scalar> continue_outline<Scalar>(const Trace<Scalar>&, const TokenBatch&, std::stop_token,                              \
                                                    const std::optional<StageId>&);                                                        \
    template Trace<Scalar> complete_outline<Scalar>(std::shared_ptr<const Trace<Scalar>>, bool, const Trace<Scalar>*, std::stop_token);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
