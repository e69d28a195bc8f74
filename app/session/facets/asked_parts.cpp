#include "app/session/facets/asked_parts.hpp"

#include <algorithm>

#include "app/session/values/map_tensors.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

std::shared_ptr<const Snapshot> ask_around(Ask& ask, const StageId& id, std::optional<std::int64_t> head, MapsWanted maps) {
    std::shared_ptr<const Snapshot> pass = ask.pass_to(id);
    if (pass->trace->whole() || pass->trace->plan->find(id) == nullptr) return pass;
    return ask(inside_with(*pass->trace, id, head, maps));
}

std::shared_ptr<const Snapshot> ask_part(Ask& ask, const StateRef& state, const std::shared_ptr<const Snapshot>& pass,
                                         const std::optional<facet::Inside>& part) {
    return part && !pass->trace->whole() ? ask.of(state, *part) : pass;
}

std::shared_ptr<const Snapshot> ask_queries(Ask& ask, const StateRef& state, const Snapshot& pass, const StageId& map) {
    const Trace<float>& trace = *pass.trace;
    if (trace.whole() || trace.plan->find(map) == nullptr) return nullptr;
    if (!can_compute_in_rows(trace)) return ask.of(state, inside_with(trace, map));
    return ask.if_known(state, inside_with(trace, map, {}, MapsWanted::Reduced));
}

NumberGrid SequenceOfStage::head(std::int64_t head) const {
    const RecordedStage<float>* recorded = head < 0 ? held->trace->find(stage) : held->trace->find(stage, head);
    if (recorded == nullptr || recorded->value.empty()) throw Error("there are no numbers of " + tensor_name(stage));
    if (sequence >= recorded->value.shape()[0].size) throw Error("there is no such sequence");
    NumberGrid grid = NumberGrid::of(*recorded, sequence, std::max<std::int64_t>(head, 0));
    if (head < 0) grid.values = mean->data() + sequence * grid.rows * grid.cols;
    return grid;
}

SequenceOfStage ask_sequence(Ask& ask, const StateRef& state, const std::shared_ptr<const Snapshot>& pass, const StageId& stage,
                             std::int64_t sequence, const std::optional<facet::Inside>& part, bool with_mean) {
    SequenceOfStage asked{stage, sequence, ask_part(ask, state, pass, part), nullptr};
    if (with_mean) asked.mean = ask.of(state, facet::HeadMean{stage, part});
    return asked;
}

}  // namespace attn::app
