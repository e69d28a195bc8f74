#include "engine/model/outline.hpp"

#include <algorithm>
#include <utility>

#include "engine/model/model_pass.hpp"
#include "engine/model/transformer.hpp"

namespace attn {
namespace {

/// The streams of all stacks.
std::vector<StageId> all_streams(const Plan& plan) {
    std::vector<StageId> streams;
    for (const Stack stack : {Stack::Main, Stack::Encoder, Stack::Decoder})
        for (const StageId& id : plan.streams(stack)) streams.push_back(id);
    return streams;
}

bool contains(const std::vector<StageId>& ids, const StageId& id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

/// What the decoder attends to; null in a model of one stack.
const StageId* memory_of(const Plan& plan) {
    const auto reads_memory = [](const PlanNode& node) { return node.id.stage == Stage::CrossK; };
    const auto found = std::find_if(plan.nodes().begin(), plan.nodes().end(), reads_memory);
    return found == plan.nodes().end() ? nullptr : &found->inputs[0];
}

/// Streams, keys and values, and what the decoder attends to.
std::vector<StageId> outline_stages(const Plan& plan) {
    std::vector<StageId> stages = all_streams(plan);
    for (const PlanNode& node : plan.nodes())
        if (node.has_heads() && node.axes[2] == Axis::S && node.axes[3] == Axis::D) stages.push_back(node.id);
    if (const StageId* memory = memory_of(plan)) stages.push_back(*memory);
    return stages;
}

/// What is done at a stage: the edits there and where they stand in the list, which their marks name.
std::vector<std::pair<std::size_t, Edit>> edits_at(const std::vector<Edit>& edits, const StageId& id) {
    std::vector<std::pair<std::size_t, Edit>> out;
    for (std::size_t i = 0; i < edits.size(); ++i)
        if (edits[i].at == id) out.emplace_back(i, edits[i]);
    return out;
}

/// The place behind the last layer's stream.
std::size_t end_of_layers(const Plan& plan) {
    const std::vector<StageId> streams = all_streams(plan);
    const auto last =
        std::find_if(plan.nodes().rbegin(), plan.nodes().rend(), [&](const PlanNode& node) { return contains(streams, node.id); });
    return static_cast<std::size_t>(plan.nodes().rend() - last);
}

template <class Scalar>
const TokenBatch* source_of(const Trace<Scalar>& trace) {
    return trace.config.architecture == Architecture::EncoderDecoder ? &trace.source_tokens : nullptr;
}

}  // namespace

template <class Scalar>
Trace<Scalar> trace_outline(std::shared_ptr<const Parameters<Scalar>> parameters, const TokenBatch& tokens, const TokenBatch& source,
                            const ForwardSettings& settings, const StageObserver<Scalar>& each, std::stop_token stop) {
    require_settings(settings);
    require_batch(parameters->config(), tokens, source);
    Trace<Scalar> trace = unrecorded_trace(std::move(parameters), tokens, source, settings);
    const Plan& plan = *trace.plan;
    const Weights weights(*trace.parameters);
    Program<Scalar> program(plan, weights, Form::Staged, Keep::OneLayer);
    MaskBuilder builder;
    const std::vector<StageId> kept = outline_stages(plan);
    Tap<Scalar> tap(true, std::move(stop));
    tap.keep_only([&](const StageId& id) { return contains(kept, id); });
    tap.observe(each);
    tap.begin_forward(settings.edits);
    const PassMasks& masks = builder.build(plan, settings.masks, tokens, source_of(trace));
    program.forward({settings, masks, tap, &tokens, &source}, 0, end_of_layers(plan));
    trace.stages = tap.take();
    return trace;
}

template <class Scalar>
Recomputation<Scalar>::Recomputation(std::shared_ptr<const Trace<Scalar>> trace)
    : trace_(std::move(trace)), weights_(*trace_->parameters), plan_(trace_->config, trace_->settings.mistake),
      streams_(all_streams(plan_)), program_(plan_, weights_, Form::Staged, Keep::Everything) {}

template <class Scalar>
typename Recomputation<Scalar>::Part Recomputation<Scalar>::part_of(std::size_t place) const {
    const Stack stack = plan_.nodes()[place].id.stack;
    Part part{0, plan_.nodes().size(), nullptr};
    for (std::size_t i = 0; i < plan_.nodes().size(); ++i) {
        const StageId& id = plan_.nodes()[i].id;
        if (i < place && id.stack != stack) part.first = i + 1;
        if (i > place && id.stack != stack) {
            part.end = i;
            break;
        }
        if (id.stack != stack || !contains(streams_, id)) continue;
        if (i >= place) {
            part.end = i + 1;
            break;
        }
        part.first = i + 1;
        part.stream = &id;
    }
    return part;
}

/// What the part reads and the trace has.
template <class Scalar>
void Recomputation<Scalar>::give(const Part& part) {
    const StageId* memory = memory_of(plan_);
    for (const StageId* id : {part.stream, part.first > 0 ? memory : nullptr}) {
        const RecordedStage<Scalar>* stage = id == nullptr ? nullptr : trace_->find(*id);
        if (stage != nullptr) program_.value(program_.place(*id)) = stage->value;
    }
}

template <class Scalar>
void Recomputation<Scalar>::run(const ForwardSettings& settings, std::size_t first, std::size_t end, Tap<Scalar>& tap) {
    tap.begin_forward(settings.edits);
    const PassMasks& masks = mask_builder_.build(plan_, settings.masks, trace_->tokens, source_of(*trace_));
    program_.forward({settings, masks, tap, &trace_->tokens, &trace_->source_tokens}, first, end);
}

template <class Scalar>
std::vector<RecordedStage<Scalar>> Recomputation<Scalar>::stages_around(const StageId& id, std::stop_token stop) {
    const Part part = part_of(program_.place(id));
    Tap<Scalar> tap(true, std::move(stop));
    give(part);
    run(trace_->settings, part.first, part.end, tap);
    return tap.take();
}

template <class Scalar>
Trace<Scalar> Recomputation<Scalar>::with_edits(std::vector<Edit> edits, std::stop_token stop) {
    ForwardSettings settings = trace_->settings;
    settings.edits = std::move(edits);
    require_settings(settings);
    Trace<Scalar> out = unrecorded_trace(trace_->parameters, trace_->tokens, trace_->source_tokens, settings);
    const bool whole = trace_->stages.size() == plan_.nodes().size();
    const std::size_t end = whole ? plan_.nodes().size() : end_of_layers(plan_);
    std::size_t changed = 0;
    while (changed < end &&
           edits_at(settings.edits, plan_.nodes()[changed].id) == edits_at(trace_->settings.edits, plan_.nodes()[changed].id))
        ++changed;
    const Part part = changed < end ? part_of(changed) : Part{end, end, nullptr};
    for (const RecordedStage<Scalar>& stage : trace_->stages)
        if (program_.place(stage.id) < part.first) out.stages.push_back(stage);
    Tap<Scalar> tap(true, std::move(stop));
    const std::vector<StageId> kept = outline_stages(plan_);
    if (!whole) tap.keep_only([&](const StageId& id) { return contains(kept, id); });
    give(part);
    run(settings, part.first, end, tap);
    for (RecordedStage<Scalar>& stage : tap.take()) out.stages.push_back(std::move(stage));
    return out;
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template Trace<Scalar> trace_outline<Scalar>(std::shared_ptr<const Parameters<Scalar>>, const TokenBatch&, const TokenBatch&,          \
                                                 const ForwardSettings&, const StageObserver<Scalar>&, std::stop_token);                   \
    template class Recomputation<Scalar>;
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
