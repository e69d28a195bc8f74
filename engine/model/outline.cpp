#include "engine/model/outline.hpp"

#include <algorithm>
#include <utility>

#include "engine/model/model_pass.hpp"
#include "engine/model/outline_layers.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/model/transformer.hpp"

namespace attn {
namespace {

/// The residual streams of all stacks.
std::vector<StageId> all_streams(const Plan& plan) {
    std::vector<StageId> streams;
    for (const Stack stack : {Stack::Main, Stack::Encoder, Stack::Decoder})
        for (const StageId& id : plan.streams(stack)) streams.push_back(id);
    return streams;
}

}  // namespace

std::vector<StageId> outline_stages(const Plan& plan, bool attended) {
    std::vector<StageId> stages = all_streams(plan);
    for (const PlanNode& node : plan.nodes())
        if (attended && (node.op == Op::Scores || node.op == Op::Mix)) stages.push_back(node.inputs[1]);
    if (const StageId* memory = memory_of(plan)) stages.push_back(*memory);
    return stages;
}

const StageId* memory_of(const Plan& plan) {
    const auto reads_memory = [](const PlanNode& node) { return node.id.stage == Stage::K && node.id.attention == kCrossAttention; };
    const auto found = std::find_if(plan.nodes().begin(), plan.nodes().end(), reads_memory);
    return found == plan.nodes().end() ? nullptr : &found->inputs[0];
}

std::size_t end_of_outline(const Plan& plan, const std::optional<StageId>& before) {
    return before ? std::min(plan.part_around(*before).first, plan.end_of_layers()) : plan.end_of_layers();
}

namespace {

template <class Scalar>
Trace<Scalar> outline_at_once(std::shared_ptr<const Parameters<Scalar>> parameters, const TokenBatch& tokens, const TokenBatch& source,
                              const ForwardSettings& settings, const StageObserver<Scalar>& each, std::stop_token stop,
                              const OutlineLimits& limits) {
    Trace<Scalar> trace = unrecorded_trace(std::move(parameters), tokens, source, settings);
    const Plan& plan = *trace.plan;
    const Weights weights(*trace.parameters);
    const Form form = !each && can_leave_out_maps(plan, settings) ? Form::Outlined : Form::Staged;
    Program<Scalar> program(plan, weights, form, Keep::UntilRead);
    MaskBuilder builder;
    const std::vector<StageId> kept = outline_stages(plan, limits.attended);
    Tap<Scalar> tap(true, std::move(stop));
    tap.keep_only([&](const StageId& id) { return contains(kept, id); });
    tap.observe(each);
    tap.begin_forward(settings.edits);
    const PassMasks& masks = builder.build(plan, settings.masks, tokens, trace.source(), program.masks_as());
    program.forward({settings, masks, tap, &tokens, &source}, 0, end_of_outline(plan, limits.before));
    trace.stages = tap.take();
    return trace;
}

template <class Scalar>
Trace<Scalar> outline_in_rows(std::shared_ptr<const Parameters<Scalar>> parameters, const TokenBatch& tokens,
                              const ForwardSettings& settings, const std::stop_token& stop, const OutlineLimits& limits) {
    Trace<Scalar> trace = unrecorded_trace(std::move(parameters), tokens, {}, settings);
    const Weights weights(*trace.parameters);
    trace.stages.push_back(first_stream(trace, weights, stop));
    add_layers_in_rows(trace, weights, 0, end_of_outline(*trace.plan, limits.before), outline_stages(*trace.plan, limits.attended),
                       rows_at_a_time(trace.config, tokens.length, limits.rows), stop, limits.progress);
    return trace;
}

}  // namespace

template <class Scalar>
Trace<Scalar> trace_outline(std::shared_ptr<const Parameters<Scalar>> parameters, const TokenBatch& tokens, const TokenBatch& source,
                            const ForwardSettings& settings, const StageObserver<Scalar>& each, std::stop_token stop,
                            const OutlineLimits& limits) {
    require_settings(settings);
    require_batch(parameters->config(), tokens, source);
    const Config& config = parameters->config();
    const std::int64_t rows = rows_at_a_time(config, tokens.length, limits.rows).products;
    if (!each && rows < tokens.length && can_compute_in_rows(config, tokens, settings))
        return outline_in_rows(std::move(parameters), tokens, settings, stop, limits);
    return outline_at_once(std::move(parameters), tokens, source, settings, each, std::move(stop), limits);
}

template <class Scalar>
void show_layers_in_rows(const Trace<Scalar>& outline, const RowsObserver<Scalar>& each, std::stop_token stop) {
    const Plan& plan = *outline.plan;
    const Weights weights(*outline.parameters);
    LayersOfOutline<Scalar> layers(outline, weights, rows_at_a_time(outline.config, outline.tokens.length), std::move(stop));
    for (std::size_t place = 0; place < plan.end_of_layers();) {
        const PlanPart part = plan.part_around(plan.nodes()[place].id);
        place = part.end;
        const RecordedStage<Scalar>* stream = part.stream ? outline.find(*part.stream) : nullptr;
        if (stream != nullptr) layers.show(part, stream->value, each);
    }
}

template <class Scalar>
bool is_complete(const Trace<Scalar>& outline) {
    const std::size_t end = outline.plan->end_of_layers();  // the last layer ends with its stream
    return end == 0 || outline.find(outline.plan->nodes()[end - 1].id) != nullptr;
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template Trace<Scalar> trace_outline<Scalar>(std::shared_ptr<const Parameters<Scalar>>, const TokenBatch&, const TokenBatch&,          \
                                                 const ForwardSettings&, const StageObserver<Scalar>&, std::stop_token,                    \
                                                 const OutlineLimits&);                                                                    \
    template void show_layers_in_rows<Scalar>(const Trace<Scalar>&, const RowsObserver<Scalar>&, std::stop_token);                         \
    template bool is_complete<Scalar>(const Trace<Scalar>&);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
