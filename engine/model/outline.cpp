#include "engine/model/outline.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/model/cached_pass.hpp"
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

/// What is done at a stage: the edits there and where they stand in the list, which their marks name.
std::vector<std::pair<std::size_t, Edit>> edits_at(const std::vector<Edit>& edits, const StageId& id) {
    std::vector<std::pair<std::size_t, Edit>> out;
    for (std::size_t i = 0; i < edits.size(); ++i)
        if (edits[i].at == id) out.emplace_back(i, edits[i]);
    return out;
}

template <class Scalar>
const TokenBatch* source_of(const Trace<Scalar>& trace) {
    return trace.config.architecture == Architecture::EncoderDecoder ? &trace.source_tokens : nullptr;
}

}  // namespace

std::vector<StageId> outline_stages(const Plan& plan) {
    std::vector<StageId> stages = all_streams(plan);
    for (const PlanNode& node : plan.nodes())
        if (node.has_heads() && node.axes[2] == Axis::S && node.axes[3] == Axis::D) stages.push_back(node.id);
    if (const StageId* memory = memory_of(plan)) stages.push_back(*memory);
    return stages;
}

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
    program.forward({settings, masks, tap, &tokens, &source}, 0, plan.end_of_layers());
    trace.stages = tap.take();
    return trace;
}

namespace {

/// Takes over the rows of the first `kept` positions of a stage [1,T,C] or [1,G,S,D], and leaves room for those that follow.
template <class Scalar>
Tensor<Scalar> with_room_for(const Tensor<Scalar>& from, std::int64_t kept, std::int64_t positions) {
    const Shape& shape = from.shape();
    const bool per_head = shape.rank() == 4;
    const std::int64_t heads = per_head ? shape[1].size : 1, before = shape[per_head ? 2 : 1].size, width = shape[per_head ? 3 : 2].size;
    const Axis axis = shape[per_head ? 2 : 1].axis;
    Tensor<Scalar> out(per_head ? Shape{shape[0], shape[1], {axis, positions}, shape[3]} : Shape{shape[0], {axis, positions}, shape[2]});
    for (std::int64_t head = 0; head < heads; ++head)
        std::copy_n(from.data() + head * before * width, kept * width, out.data() + head * positions * width);
    return out;
}

/// Puts the rows of the positions from `kept` on into their places.
template <class Scalar>
void put_behind(const Tensor<Scalar>& added, std::int64_t kept, Tensor<Scalar>& out) {
    const Shape& shape = out.shape();
    const bool per_head = shape.rank() == 4;
    const std::int64_t heads = per_head ? shape[1].size : 1, positions = shape[per_head ? 2 : 1].size, width = shape[per_head ? 3 : 2].size;
    const std::int64_t rows = positions - kept;
    for (std::int64_t head = 0; head < heads; ++head)
        std::copy_n(added.data() + head * rows * width, rows * width, out.data() + (head * positions + kept) * width);
}

/// Keys and values as attention reads them.
bool is_attended(const Plan& plan, const StageId& id) {
    return std::any_of(plan.nodes().begin(), plan.nodes().end(),
                       [&](const PlanNode& node) { return (node.op == Op::Scores || node.op == Op::Mix) && node.inputs[1] == id; });
}

TokenBatch rest_of(const TokenBatch& tokens, std::int64_t kept) {
    return {tokens.length - kept, {tokens.ids.begin() + kept, tokens.ids.end()}, {tokens.length - kept}};
}

}  // namespace

template <class Scalar>
std::int64_t positions_kept(const Trace<Scalar>& outline, const TokenBatch& tokens) {
    const TokenBatch& before = outline.tokens;
    const bool one_text =
        before.size() == 1 && tokens.size() == 1 && before.lengths[0] == before.length && tokens.lengths[0] == tokens.length;
    if (!one_text || !can_cache(outline.config, outline.settings)) return 0;
    if (!keeps_positions(*outline.plan, before.length, tokens.length)) return 0;
    return std::mismatch(before.ids.begin(), before.ids.end(), tokens.ids.begin(), tokens.ids.end()).first - before.ids.begin();
}

template <class Scalar>
Trace<Scalar> continue_outline(const Trace<Scalar>& outline, const TokenBatch& tokens, std::stop_token stop) {
    require_batch(outline.config, tokens, {});
    const std::int64_t kept = positions_kept(outline, tokens), positions = tokens.length;
    Trace<Scalar> out = unrecorded_trace(outline.parameters, tokens, {}, outline.settings);
    for (const StageId& id : outline_stages(*out.plan)) {
        const RecordedStage<Scalar>* stage = outline.find(id);
        if (stage == nullptr) throw Error("the outline has no " + tensor_name(id));
        out.stages.push_back({id, with_room_for(stage->value, kept, positions)});
    }
    const Plan& plan = *out.plan;
    const auto by_place = [&](const auto& a, const auto& b) { return &plan.at(a.id) < &plan.at(b.id); };
    std::sort(out.stages.begin(), out.stages.end(), by_place);
    if (kept == positions) return out;

    const Weights weights(*out.parameters);
    Program<Scalar> program(plan, weights, Form::Staged, Keep::OneLayer);
    const PassMasks masks = masks_behind(plan, kept, positions - kept);
    const TokenBatch added = rest_of(tokens, kept);
    Tap<Scalar> tap(false, std::move(stop));
    PassSetting<Scalar> setting{out.settings, masks, tap, &added};
    setting.first_position = kept;
    std::size_t next = 0;
    for (RecordedStage<Scalar>& stage : out.stages) {
        const std::size_t place = program.place(stage.id);
        program.forward(setting, next, place + 1);
        next = place + 1;
        put_behind(program.value(place), kept, stage.value);
        if (is_attended(plan, stage.id)) program.value(place) = stage.value;
    }
    return out;
}

template <class Scalar>
Recomputation<Scalar>::Recomputation(std::shared_ptr<const Trace<Scalar>> trace, Keep keep)
    : trace_(std::move(trace)), weights_(*trace_->parameters), plan_(trace_->config, trace_->settings.mistake),
      program_(plan_, weights_, Form::Staged, keep) {}

/// What the part reads and the trace has: the stream, and what the decoder attends to.
template <class Scalar>
std::vector<const RecordedStage<Scalar>*> Recomputation<Scalar>::read_by(const PlanPart& part) const {
    std::vector<const RecordedStage<Scalar>*> found;
    // The encoder itself makes the memory.
    const StageId* memory = memory_of(plan_);
    const bool reads_memory = memory != nullptr && part.first < plan_.nodes().size() && plan_.nodes()[part.first].id.stack != memory->stack;
    for (const StageId* id : {part.stream ? &*part.stream : nullptr, reads_memory ? memory : nullptr})
        if (const RecordedStage<Scalar>* stage = id == nullptr ? nullptr : trace_->find(*id)) found.push_back(stage);
    return found;
}

template <class Scalar>
void Recomputation<Scalar>::give(const PlanPart& part) {
    for (const RecordedStage<Scalar>* stage : read_by(part)) program_.value(program_.place(stage->id)) = stage->value;
}

template <class Scalar>
void Recomputation<Scalar>::run(const ForwardSettings& settings, std::size_t first, std::size_t end, Tap<Scalar>& tap) {
    tap.begin_forward(settings.edits);
    const PassMasks& masks = mask_builder_.build(plan_, settings.masks, trace_->tokens, source_of(*trace_));
    program_.forward({settings, masks, tap, &trace_->tokens, &trace_->source_tokens}, first, end);
}

template <class Scalar>
std::vector<RecordedStage<Scalar>> Recomputation<Scalar>::stages_around(const StageId& id, std::stop_token stop) {
    const PlanPart part = plan_.part_around(id);
    Tap<Scalar> tap(true, std::move(stop));
    give(part);
    run(trace_->settings, part.first, part.end, tap);
    return tap.take();
}

template <class Scalar>
void Recomputation<Scalar>::show_around(const StageId& id, const StageObserver<Scalar>& each, std::stop_token stop) {
    const PlanPart part = plan_.part_around(id);
    Tap<Scalar> tap(false, std::move(stop));
    tap.observe(each);
    give(part);
    run(trace_->settings, part.first, part.end, tap);
}

template <class Scalar>
Trace<Scalar> Recomputation<Scalar>::trace_around(const StageId& id, std::stop_token stop,
                                                  const std::function<bool(const StageId&)>& wanted) {
    const PlanPart part = plan_.part_around(id);
    Tap<Scalar> tap(true, std::move(stop));
    if (wanted) tap.keep_only(wanted);
    give(part);
    run(trace_->settings, part.first, part.end, tap);
    std::vector<RecordedStage<Scalar>> inside = tap.take();
    Trace<Scalar> out = unrecorded_trace(trace_->parameters, trace_->tokens, trace_->source_tokens, trace_->settings);
    for (const RecordedStage<Scalar>* stage : read_by(part)) {
        const auto same = [&](const RecordedStage<Scalar>& other) { return other.id == stage->id; };
        if (std::none_of(inside.begin(), inside.end(), same)) out.stages.push_back(*stage);
    }
    std::move(inside.begin(), inside.end(), std::back_inserter(out.stages));
    return out;
}

template <class Scalar>
Trace<Scalar> Recomputation<Scalar>::with_edits(std::vector<Edit> edits, std::stop_token stop) {
    ForwardSettings settings = trace_->settings;
    settings.edits = std::move(edits);
    require_settings(settings);
    Trace<Scalar> out = unrecorded_trace(trace_->parameters, trace_->tokens, trace_->source_tokens, settings);
    const bool whole = trace_->stages.size() == plan_.nodes().size();
    const std::size_t end = whole ? plan_.nodes().size() : plan_.end_of_layers();
    std::size_t changed = 0;
    while (changed < end &&
           edits_at(settings.edits, plan_.nodes()[changed].id) == edits_at(trace_->settings.edits, plan_.nodes()[changed].id))
        ++changed;
    const PlanPart part = changed < end ? plan_.part_around(plan_.nodes()[changed].id) : PlanPart{end, end, {}};
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
    template std::int64_t positions_kept<Scalar>(const Trace<Scalar>&, const TokenBatch&);                                                 \
    template Trace<Scalar> continue_outline<Scalar>(const Trace<Scalar>&, const TokenBatch&, std::stop_token);                             \
    template class Recomputation<Scalar>;
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
