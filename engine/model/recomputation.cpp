#include "engine/model/recomputation.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/model/model_pass.hpp"
#include "engine/model/outline.hpp"
#include "engine/model/outline_layers.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/model/transformer.hpp"

namespace attn {
namespace {

/// The edits at a stage, with their index in the list, which marks refer to.
std::vector<std::pair<std::size_t, Edit>> edits_at(const std::vector<Edit>& edits, const StageId& id) {
    std::vector<std::pair<std::size_t, Edit>> out;
    for (std::size_t i = 0; i < edits.size(); ++i)
        if (edits[i].at == id) out.emplace_back(i, edits[i]);
    return out;
}

}  // namespace

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
    const PassMasks& masks = mask_builder_.build(plan_, settings.masks, trace_->tokens, trace_->source());
    program_.forward({settings, masks, tap, &trace_->tokens, &trace_->source_tokens}, first, end);
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
    const bool whole = trace_->whole();
    const std::size_t end = whole ? plan_.nodes().size() : plan_.end_of_layers(), place = first_changed(settings.edits, end);
    std::vector<StageId> kept;
    for (const RecordedStage<Scalar>& stage : trace_->stages) kept.push_back(stage.id);
    if (!whole) return outline_from(place, settings, kept, std::move(stop), rows);
    Trace<Scalar> out = before(place, settings);
    Tap<Scalar> tap(true, std::move(stop));
    add(out, place, end, tap);
    return out;
}

template <class Scalar>
std::size_t Recomputation<Scalar>::first_changed(const std::vector<Edit>& edits, std::size_t end) const {
    const auto& nodes = plan_.nodes();
    std::size_t changed = 0;
    while (changed < end && edits_at(edits, nodes[changed].id) == edits_at(trace_->settings.edits, nodes[changed].id)) ++changed;
    return changed < end ? plan_.part_around(nodes[changed].id).first : end;
}

template <class Scalar>
const Tensor<Scalar>& Recomputation<Scalar>::logits_with(const std::vector<Edit>& edits, const std::optional<Row>& only,
                                                         std::stop_token stop) {
    if (!trace_->config.lm_head) throw ConfigError("a model without an output head predicts no tokens");
    ForwardSettings settings = trace_->settings;
    settings.edits = edits;
    require_settings(settings);
    const std::size_t end = plan_.end_of_layers(), place = first_changed(edits, end);
    Tap<Scalar> tap(false, std::move(stop));
    give(plan_.part_around(plan_.nodes()[place].id));
    run(settings, place, end, tap);
    if (only) {
        Tensor<Scalar>& stream = program_.value(end - 1);
        const std::int64_t width = stream.shape()[2].size;
        std::copy_n(stream.data() + (only->sequence * stream.shape()[1].size + only->position) * width, width, stream.data());
        stream.resize({{Axis::B, 1}, {Axis::T, 1}, {Axis::C, width}});
    }
    const std::size_t logits = program_.place(plan_.logits());
    run(settings, end, logits + 1, tap);
    return program_.value(logits);
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
        return out;
    }
    Tap<Scalar> tap(true, std::move(stop));
    tap.keep_only([&](const StageId& id) { return contains(kept, id); });
    add(out, place, end, tap);
    return out;
}

template class Recomputation<float>;
template class Recomputation<double>;

}  // namespace attn
