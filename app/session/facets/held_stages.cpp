#include "app/session/facets/held_stages.hpp"

#include "engine/io/while_intact.hpp"
#include "engine/model/continued_outline.hpp"
#include "engine/model/outline.hpp"
#include "engine/model/recomputation.hpp"
#include "engine/model/transformer.hpp"
#include "engine/tensor/error.hpp"

#include "app/session/document/prepare.hpp"

namespace attn::app {

void FilesBehind::require_intact() const {
    if (snapshot.state != nullptr) snapshot.state->setup->model.require_intact();
}

std::shared_ptr<const Trace<float>> complete_trace(const Snapshot& snapshot, const std::stop_token& stop) {
    if (snapshot.trace == nullptr) throw Error("nothing has been computed yet");
    if (snapshot.trace->whole() || is_complete(*snapshot.trace)) return snapshot.trace;
    return while_intact(FilesBehind{snapshot}, [&] {
        return std::make_shared<const Trace<float>>(complete_outline<float>(snapshot.trace, false, nullptr, stop));
    });
}

void expect_room_for_part(const Trace<float>& trace, const StageId& id, double room_mib) {
    const PlanPart part = trace.plan->part_around(id);
    double numbers = 0;
    for (std::size_t i = part.first; i < part.end; ++i) {
        const Shape shape = trace.shape_of(trace.plan->nodes()[i].id);
        double count = 1;
        for (const Dim& dim : shape) count *= static_cast<double>(dim.size);
        numbers += count;
    }
    expect_room(numbers * sizeof(float) / (1024 * 1024), room_mib);
}

std::shared_ptr<const Trace<float>> trace_with(const Snapshot& snapshot, const StageId& id, const std::stop_token& stop) {
    if (snapshot.trace == nullptr) throw Error("nothing has been computed yet");
    if (snapshot.trace->whole() || snapshot.trace->find(id) != nullptr) return snapshot.trace;
    if (snapshot.trace->plan->find(id) == nullptr) throw Error("this model has no stage " + tensor_name(id));
    expect_room_for_part(*snapshot.trace, id, snapshot.budget_mib);
    return while_intact(FilesBehind{snapshot}, [&] {
        return std::make_shared<const Trace<float>>(Recomputation<float>(complete_trace(snapshot, stop)).trace_around(id, stop));
    });
}

std::shared_ptr<const Trace<float>> whole_trace(const Snapshot& snapshot, const std::stop_token& stop) {
    if (snapshot.trace == nullptr) throw Error("nothing has been computed yet");
    const Trace<float>& trace = *snapshot.trace;
    if (trace.whole()) return snapshot.trace;
    expect_room(snapshot.whole_mib, snapshot.budget_mib);
    return while_intact(FilesBehind{snapshot}, [&] {
        return std::make_shared<const Trace<float>>(
            trace_forward<float>(trace.parameters, trace.tokens, trace.source_tokens, trace.settings, stop));
    });
}

}  // namespace attn::app
