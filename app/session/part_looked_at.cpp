#include "app/session/part_looked_at.hpp"

namespace attn::app {
namespace {

/// The map that a stage shows or is computed from; the weights, which are always there, for a stage that has to do with none.
Stage map_for(const StageId& id) {
    const Stage self = to_self(id.stage);
    if (self == Stage::Context) return Stage::Dropped;
    return is_attention_map(id.stage) ? self : Stage::Weights;
}

/// Of the stages of a part that somebody chooses.
template <class Chosen>
double mib_of_stages(const Trace<float>& trace, const PlanPart& part, const Chosen& chosen) {
    double numbers = 0;
    for (std::size_t i = part.first; i < part.end; ++i)
        if (const StageId& id = trace.plan->nodes()[i].id; chosen(id)) numbers += static_cast<double>(trace.shape_of(id).count());
    return numbers * sizeof(float) / (1024.0 * 1024.0);
}

}  // namespace

facet::Inside inside_with(const Trace<float>& trace, const StageId& id) {
    const PlanPart part = trace.plan->part_around(id);
    facet::Inside inside{trace.plan->nodes()[part.first].id};
    const double maps = mib_of_stages(trace, part, [](const StageId& stage) { return is_attention_map(stage.stage); });
    if (maps > kMapsMiB) inside.map = map_for(id);
    return inside;
}

bool holds(const facet::Inside& inside, const StageId& id) {
    if (!inside.map || !is_attention_map(id.stage)) return true;
    const Stage self = to_self(id.stage);
    // The maps of an attention follow each other, each computed from the one before.
    const bool is_input = static_cast<int>(self) + 1 == static_cast<int>(*inside.map);
    return self == *inside.map || self == Stage::Weights || is_input;
}

double mib_of(const facet::Inside& inside, const Trace<float>& outline) {
    return mib_of_stages(outline, outline.plan->part_around(inside.first), [&](const StageId& id) { return holds(inside, id); });
}

}  // namespace attn::app
