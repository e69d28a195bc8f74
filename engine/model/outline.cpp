#include "engine/model/outline.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "engine/model/model_pass.hpp"
#include "engine/model/rest_of_text.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/model/transformer.hpp"
#include "engine/tensor/position_rows.hpp"
#include "engine/trace/apply_edit.hpp"

namespace attn {
namespace {

/// The residual streams of all stacks.
std::vector<StageId> all_streams(const Plan& plan) {
    std::vector<StageId> streams;
    for (const Stack stack : {Stack::Main, Stack::Encoder, Stack::Decoder})
        for (const StageId& id : plan.streams(stack)) streams.push_back(id);
    return streams;
}

bool contains(const std::vector<StageId>& ids, const StageId& id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

/// The stage a decoder attends to; null for a model of one stack.
const StageId* memory_of(const Plan& plan) {
    const auto reads_memory = [](const PlanNode& node) { return node.id.stage == Stage::CrossK; };
    const auto found = std::find_if(plan.nodes().begin(), plan.nodes().end(), reads_memory);
    return found == plan.nodes().end() ? nullptr : &found->inputs[0];
}

/// The edits at a stage, with their index in the list, which marks refer to.
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

std::vector<StageId> outline_stages(const Plan& plan, bool attended) {
    std::vector<StageId> stages = all_streams(plan);
    for (const PlanNode& node : plan.nodes())
        if (attended && node.has_heads() && node.axes[2] == Axis::S && node.axes[3] == Axis::D) stages.push_back(node.id);
    if (const StageId* memory = memory_of(plan)) stages.push_back(*memory);
    return stages;
}

namespace {

/// The node at which an outline ends.
std::size_t end_of_outline(const Plan& plan, const std::optional<StageId>& before) {
    return before ? std::min(plan.part_around(*before).first, plan.end_of_layers()) : plan.end_of_layers();
}

template <class Scalar>
Trace<Scalar> outline_at_once(std::shared_ptr<const Parameters<Scalar>> parameters, const TokenBatch& tokens, const TokenBatch& source,
                              const ForwardSettings& settings, const StageObserver<Scalar>& each, std::stop_token stop,
                              const OutlineLimits& limits) {
    Trace<Scalar> trace = unrecorded_trace(std::move(parameters), tokens, source, settings);
    const Plan& plan = *trace.plan;
    const Weights weights(*trace.parameters);
    const Form form = !each && can_leave_out_maps(plan, settings) ? Form::Outlined : Form::Staged;
    Program<Scalar> program(plan, weights, form, Keep::OneLayer);
    MaskBuilder builder;
    const std::vector<StageId> kept = outline_stages(plan, limits.attended);
    Tap<Scalar> tap(true, std::move(stop));
    tap.keep_only([&](const StageId& id) { return contains(kept, id); });
    tap.observe(each);
    tap.begin_forward(settings.edits);
    const PassMasks& masks = builder.build(plan, settings.masks, tokens, source_of(trace));
    program.forward({settings, masks, tap, &tokens, &source}, 0, end_of_outline(plan, limits.before));
    trace.stages = tap.take();
    return trace;
}

/// Computes the stream that enters the first layer.
template <class Scalar>
RecordedStage<Scalar> first_stream(const Trace<Scalar>& trace, const Weights& weights, const std::stop_token& stop) {
    const StageId id = trace.plan->streams(Stack::Main).front();
    Program<Scalar> program(*trace.plan, weights, Form::Staged, Keep::OneLayer);
    Tap<Scalar> tap(false, stop);
    tap.begin_forward(trace.settings.edits);
    const PassMasks none;
    program.forward({trace.settings, none, tap, &trace.tokens}, 0, program.place(id) + 1);
    return {id, std::move(program.value(program.place(id)))};
}

/// Adds rows to a recorded stage; the first rows create it.
template <class Scalar>
void record_rows(Trace<Scalar>& trace, const StageRows<Scalar>& shown) {
    if (shown.first == 0) trace.stages.emplace_back(RecordedStage<Scalar>{shown.id, {}}).value.resize(trace.shape_of(shown.id));
    const auto is_it = [&](const RecordedStage<Scalar>& stage) { return stage.id == shown.id; };
    // Search from the back: the current layer's stages are the last.
    const auto stage = std::find_if(trace.stages.rbegin(), trace.stages.rend(), is_it);
    copy_positions(shown.value, 0, stage->value, shown.first, PositionRows(shown.value.shape()).positions);
}

/// Marks the cells set by edits, in stages without a mask.
template <class Scalar>
void mark_edits(Trace<Scalar>& trace) {
    for (RecordedStage<Scalar>& stage : trace.stages) stage.edited = marks_of(trace.settings.edits, stage.id, stage.value.shape(), nullptr);
}

/// Shows the layers of a trace, with maps only where they are edited.
template <class Scalar>
class LayersOfOutline {
public:
    LayersOfOutline(const Trace<Scalar>& trace, const Weights& weights, const RowCounts& rows, std::stop_token stop)
        : trace_(trace), weights_(weights), rows_(rows), stop_(std::move(stop)) {}
    void show(const PlanPart& part, const Tensor<Scalar>& stream, const RowsObserver<Scalar>& each) {
        const Form form = can_leave_out_maps(*trace_.plan, trace_.settings, part) ? Form::Outlined : Form::Staged;
        std::optional<LayerInRows<Scalar>>& layer = form == Form::Staged ? with_maps_ : without_maps_;
        if (!layer) layer.emplace(*trace_.plan, weights_, trace_.settings, trace_.tokens, stop_, form);
        layer->show(part, stream, rows_, each);
    }

private:
    const Trace<Scalar>& trace_;
    const Weights& weights_;
    const RowCounts rows_;
    const std::stop_token stop_;
    std::optional<LayerInRows<Scalar>> with_maps_, without_maps_;
};

/// Computes the layers in nodes [place, end) and records the stages in `kept`. The trace's last stage is what the first layer reads.
template <class Scalar>
void add_layers_in_rows(Trace<Scalar>& trace, const Weights& weights, std::size_t place, std::size_t end, const std::vector<StageId>& kept,
                        const RowCounts& rows, const std::stop_token& stop) {
    const Plan& plan = *trace.plan;
    trace.stages.reserve(plan.nodes().size());  // a layer reads the previous stream while its own stages are added
    LayersOfOutline<Scalar> layers(trace, weights, rows, stop);
    while (place < end) {
        const PlanPart part = plan.part_around(plan.nodes()[place].id);
        place = part.end;
        if (!part.stream) continue;
        layers.show(part, trace.stages.back().value, [&](const StageRows<Scalar>& shown) {
            if (contains(kept, shown.id)) record_rows(trace, shown);
        });
    }
}

template <class Scalar>
Trace<Scalar> outline_in_rows(std::shared_ptr<const Parameters<Scalar>> parameters, const TokenBatch& tokens,
                              const ForwardSettings& settings, const std::stop_token& stop, const OutlineLimits& limits) {
    Trace<Scalar> trace = unrecorded_trace(std::move(parameters), tokens, {}, settings);
    const Weights weights(*trace.parameters);
    trace.stages.push_back(first_stream(trace, weights, stop));
    add_layers_in_rows(trace, weights, 0, end_of_outline(*trace.plan, limits.before), outline_stages(*trace.plan, limits.attended),
                       rows_at_a_time(trace.config, tokens.length, limits.rows), stop);
    mark_edits(trace);
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

namespace {

/// Whether the outline has the keys and values of every layer.
template <class Scalar>
bool holds_attended(const Trace<Scalar>& outline) {
    const std::vector<StageId> all = outline_stages(*outline.plan);
    return std::all_of(all.begin(), all.end(), [&](const StageId& id) { return outline.find(id) != nullptr; });
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

namespace {

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
    Trace<Scalar> out{outline.config, outline.plan, outline.settings, tokens, {}, outline.parameters, {}, {}};
    const Plan& plan = *out.plan;
    const std::vector<StageId> all = outline_stages(plan);
    const Weights weights(*out.parameters);
    AttendedAgain<Scalar> again(outline, weights, kept, stop);
    Program<Scalar> program(plan, weights, Form::Staged, Keep::OneLayer);
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
        const bool attended = is_attended(plan, id);
        // Keys before rotation are needed only if the outline holds them.
        if (before == nullptr && (!attended || kept == tokens.length)) continue;
        rest.forward(std::exchange(next, place + 1), place + 1);
        Tensor<Scalar> whole = rest.joined(before == nullptr ? again(id) : before->value, place);
        if (attended) program.value(place) = whole;  // the layer goes on with all keys and values
        if (before != nullptr) out.stages.push_back({id, std::move(whole)});
    }
    return out;
}

}  // namespace

template <class Scalar>
Trace<Scalar> continue_outline(const Trace<Scalar>& outline, const TokenBatch& tokens, std::stop_token stop,
                               const std::optional<StageId>& before) {
    require_batch(outline.config, tokens, {});
    const std::int64_t kept = positions_kept(outline, tokens);
    if (kept == 0)
        return trace_outline<Scalar>(outline.parameters, tokens, {}, outline.settings, {}, stop, {holds_attended(outline), 0, before});
    return continued<Scalar>(outline, tokens, kept, nullptr, end_of_outline(*outline.plan, before), std::move(stop));
}

template <class Scalar>
bool is_complete(const Trace<Scalar>& outline) {
    const std::size_t end = outline.plan->end_of_layers();  // the last layer ends with its stream
    return end == 0 || outline.find(outline.plan->nodes()[end - 1].id) != nullptr;
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

template <class Scalar>
Recomputation<Scalar>::Recomputation(std::shared_ptr<const Trace<Scalar>> trace, Keep keep)
    : trace_(std::move(trace)), weights_(*trace_->parameters), plan_(trace_->config, trace_->settings.mistake),
      program_(plan_, weights_, Form::Staged, keep) {}

/// The recorded stages that a part reads: its stream, and the memory that a decoder attends to.
template <class Scalar>
std::vector<const RecordedStage<Scalar>*> Recomputation<Scalar>::read_by(const PlanPart& part) const {
    std::vector<const RecordedStage<Scalar>*> found;
    // The encoder computes the memory itself.
    const StageId* memory = memory_of(plan_);
    const bool reads_memory = memory != nullptr && part.first < plan_.nodes().size() && plan_.nodes()[part.first].id.stack != memory->stack;
    for (const StageId* id : {part.stream ? &*part.stream : nullptr, reads_memory ? memory : nullptr})
        if (const RecordedStage<Scalar>* stage = id == nullptr ? nullptr : trace_->find(*id)) found.push_back(stage);
    return found;
}

template <class Scalar>
void Recomputation<Scalar>::give(const PlanPart& part) {
    if (part.stream && trace_->find(*part.stream) == nullptr) throw Error("the outline has no " + tensor_name(*part.stream));
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
void Recomputation<Scalar>::show_rows_around(const StageId& id, const RowsObserver<Scalar>& each, std::stop_token stop, std::int64_t rows) {
    const PlanPart part = plan_.part_around(id);
    const std::int64_t positions = trace_->tokens.length;
    const RowCounts counts = rows_at_a_time(trace_->config, positions, rows);
    if (!part.stream || counts.maps >= positions || !can_compute_in_rows(*trace_)) {
        const auto show = [&](const StageId& stage, const Tensor<Scalar>& value, const Mask* mask) { each({stage, 0, value, mask}); };
        return show_around(id, show, std::move(stop));
    }
    const RecordedStage<Scalar>* stream = trace_->find(*part.stream);
    if (stream == nullptr) throw Error("the outline has no " + tensor_name(*part.stream));
    LayerInRows<Scalar>(plan_, weights_, trace_->settings, trace_->tokens, std::move(stop)).show(part, stream->value, counts, each);
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
Trace<Scalar> Recomputation<Scalar>::with_edits(std::vector<Edit> edits, std::stop_token stop, std::int64_t rows) {
    ForwardSettings settings = trace_->settings;
    settings.edits = std::move(edits);
    require_settings(settings);
    const bool whole = trace_->stages.size() == plan_.nodes().size();
    const std::size_t end = whole ? plan_.nodes().size() : plan_.end_of_layers();
    std::size_t changed = 0;
    while (changed < end &&
           edits_at(settings.edits, plan_.nodes()[changed].id) == edits_at(trace_->settings.edits, plan_.nodes()[changed].id))
        ++changed;
    const std::size_t place = changed < end ? plan_.part_around(plan_.nodes()[changed].id).first : end;
    std::vector<StageId> kept;
    for (const RecordedStage<Scalar>& stage : trace_->stages) kept.push_back(stage.id);
    if (!whole) return outline_from(place, settings, kept, std::move(stop), rows);
    Trace<Scalar> out = before(place, settings);
    Tap<Scalar> tap(true, std::move(stop));
    add(out, place, end, tap);
    return out;
}

template <class Scalar>
Trace<Scalar> Recomputation<Scalar>::before(std::size_t place, const ForwardSettings& settings) const {
    Trace<Scalar> out = unrecorded_trace(trace_->parameters, trace_->tokens, trace_->source_tokens, settings);
    for (const RecordedStage<Scalar>& stage : trace_->stages)
        if (program_.place(stage.id) < place) out.stages.push_back(stage);
    return out;
}

template <class Scalar>
void Recomputation<Scalar>::add(Trace<Scalar>& out, std::size_t place, std::size_t end, Tap<Scalar>& tap) {
    give(place < end ? plan_.part_around(plan_.nodes()[place].id) : PlanPart{end, end, {}});
    run(out.settings, place, end, tap);
    for (RecordedStage<Scalar>& stage : tap.take()) out.stages.push_back(std::move(stage));
}

template <class Scalar>
Trace<Scalar> Recomputation<Scalar>::outline_from(std::size_t place, const ForwardSettings& settings, const std::vector<StageId>& kept,
                                                  std::stop_token stop, std::int64_t rows) {
    const std::size_t end = plan_.end_of_layers();
    Trace<Scalar> out = before(place, settings);
    const RowCounts counts = rows_at_a_time(out.config, out.tokens.length, rows);
    if (counts.maps < out.tokens.length && can_compute_in_rows(out)) {
        const bool from_text = place < end && !plan_.part_around(plan_.nodes()[place].id).stream;
        if (from_text) out.stages.push_back(first_stream(out, weights_, stop));
        add_layers_in_rows(out, weights_, place, end, kept, counts, stop);
        mark_edits(out);
        return out;
    }
    Tap<Scalar> tap(true, std::move(stop));
    tap.keep_only([&](const StageId& id) { return contains(kept, id); });
    add(out, place, end, tap);
    return out;
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template Trace<Scalar> trace_outline<Scalar>(std::shared_ptr<const Parameters<Scalar>>, const TokenBatch&, const TokenBatch&,          \
                                                 const ForwardSettings&, const StageObserver<Scalar>&, std::stop_token,                    \
                                                 const OutlineLimits&);                                                                    \
    template void show_layers_in_rows<Scalar>(const Trace<Scalar>&, const RowsObserver<Scalar>&, std::stop_token);                         \
    template std::int64_t positions_kept<Scalar>(const Trace<Scalar>&, const TokenBatch&);                                                 \
    template Trace<Scalar> continue_outline<Scalar>(const Trace<Scalar>&, const TokenBatch&, std::stop_token,                              \
                                                    const std::optional<StageId>&);                                                        \
    template bool is_complete<Scalar>(const Trace<Scalar>&);                                                                               \
    template Trace<Scalar> complete_outline<Scalar>(std::shared_ptr<const Trace<Scalar>>, bool, const Trace<Scalar>*, std::stop_token);    \
    template class Recomputation<Scalar>;
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
