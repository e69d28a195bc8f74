#include "engine/model/outline_layers.hpp"

#include <algorithm>
#include <utility>

#include "engine/model/outline.hpp"
#include "engine/tensor/position_rows.hpp"
#include "engine/trace/apply_edit.hpp"

namespace attn {
namespace {

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

}  // namespace

template <class Scalar>
LayersOfOutline<Scalar>::LayersOfOutline(const Trace<Scalar>& trace, const Weights& weights, const RowCounts& rows, std::stop_token stop)
    : trace_(trace), weights_(weights), rows_(rows), stop_(std::move(stop)) {}

template <class Scalar>
void LayersOfOutline<Scalar>::show(const PlanPart& part, const Tensor<Scalar>& stream, const RowsObserver<Scalar>& each,
                                   const std::function<void(double share)>& progress) {
    const Form form = can_leave_out_maps(*trace_.plan, trace_.settings, part) ? Form::Outlined : Form::Staged;
    std::optional<LayerInRows<Scalar>>& layer = form == Form::Staged ? with_maps_ : without_maps_;
    if (!layer) layer.emplace(*trace_.plan, weights_, trace_.settings, trace_.tokens, stop_, form);
    layer->tell(progress);
    layer->show(part, stream, rows_, each);
}

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

template <class Scalar>
void add_layers_in_rows(Trace<Scalar>& trace, const Weights& weights, std::size_t place, std::size_t end, const std::vector<StageId>& kept,
                        const RowCounts& rows, const std::stop_token& stop, const std::function<void(double share)>& progress) {
    const Plan& plan = *trace.plan;
    trace.stages.reserve(plan.nodes().size());  // a layer reads the previous stream while its own stages are added
    LayersOfOutline<Scalar> layers(trace, weights, rows, stop);
    const auto all = static_cast<double>(end - place);
    for (const std::size_t first = place; place < end;) {
        const PlanPart part = plan.part_around(plan.nodes()[place].id);
        std::function<void(double)> of_all;
        if (progress)
            of_all = [&, before = static_cast<double>(place - first), nodes = static_cast<double>(part.end - place)](double share) {
                progress((before + share * nodes) / all);
            };
        place = part.end;
        if (!part.stream) continue;
        const auto record = [&](const StageRows<Scalar>& shown) {
            if (contains(kept, shown.id)) record_rows(trace, shown);
        };
        layers.show(part, trace.stages.back().value, record, of_all);
    }
    mark_edits(trace);
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template class LayersOfOutline<Scalar>;                                                                                                \
    template RecordedStage<Scalar> first_stream<Scalar>(const Trace<Scalar>&, const Weights&, const std::stop_token&);                     \
    template void add_layers_in_rows<Scalar>(Trace<Scalar>&, const Weights&, std::size_t, std::size_t, const std::vector<StageId>&,        \
                                             const RowCounts&, const std::stop_token&, const std::function<void(double)>&);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
