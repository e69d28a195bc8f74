#include "app/session/values/part_looked_at.hpp"

#include <algorithm>
#include <cmath>

#include "app/session/document/prepare.hpp"
#include "engine/model/text_rules.hpp"

namespace attn::app {
namespace {

/// The map that a stage shows or is computed from. For stages without one, the weights, which are always kept.
Stage map_for(const StageId& id) {
    if (id.stage == Stage::Context) return Stage::Dropped;
    return is_attention_map(id.stage) ? id.stage : Stage::Weights;
}

bool is_map(const StageId& id) { return is_attention_map(id.stage); }

/// Within an attention, each map is computed from the one before.
bool holds_map(const facet::Inside& inside, const Plan& plan, const StageId& id) {
    if (!inside.map || id.stage == *inside.map) return true;
    if (inside.maps_alone) return false;
    if (id.stage == Stage::Weights) return true;
    const PlanNode* map = plan.find(of_same_attention(id, *inside.map));
    return map != nullptr && std::find(map->inputs.begin(), map->inputs.end(), id) != map->inputs.end();
}

/// Upper bounds for the reduced maps of one stage, and for those of a view of all layers.
constexpr std::int64_t kReducedBytes = 2 << 20, kReducedBytesOfAllLayers = 16 << 20;
/// Up to this, the maps of a view of all layers are not reduced.
constexpr double kNumbersOfAllLayersMiB = 32;

int level_for(const Trace<float>& trace, std::int64_t bytes) {
    const std::int64_t positions = trace.tokens.length;
    return reduced_level(positions, positions, trace.config.num_heads, bytes);
}

LayerHalf half_of(const StageId& id) {
    return stage_kind(id.stage) == StageKind::FeedForward ? LayerHalf::FeedForward : LayerHalf::Attention;
}

bool is_read_in(LayerHalf half, const Plan& plan, const PlanPart& part, const StageId& id) {
    return std::any_of(plan.nodes().begin() + static_cast<std::ptrdiff_t>(part.first),
                       plan.nodes().begin() + static_cast<std::ptrdiff_t>(part.end), [&](const PlanNode& node) {
                           return half_of(node.id) == half && std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end();
                       });
}

}  // namespace

double mib_of_stage(const Trace<float>& trace, const StageId& id) {
    return static_cast<double>(trace.shape_of(id).count()) * sizeof(float) / (1024.0 * 1024.0);
}

namespace {

/// As much as is held of one part without computing it in halves, or its maps head by head.
double most_of_part_mib(const Trace<float>& trace) {
    constexpr double kMost = 64;
    const double numbers = trace.parameters == nullptr ? 0 : static_cast<double>(trace.parameters->layout().count());
    return std::min(kMost, most_beside_model_mib(numbers * sizeof(float) / (1024.0 * 1024.0)));
}

bool is_alone(MapsWanted wanted) { return wanted == MapsWanted::NumbersAlone || wanted == MapsWanted::ReducedAlone; }

/// For a view of all layers.
facet::Inside map_alone(const Trace<float>& trace, const StageId& id, facet::Inside inside, MapsWanted wanted) {
    inside.map = map_for(id);
    inside.maps_alone = true;
    const auto layers = trace.config.num_layers;
    if (wanted == MapsWanted::ReducedAlone && static_cast<double>(layers) * mib_of_stage(trace, id) > kNumbersOfAllLayersMiB)
        inside.level = level_for(trace, kReducedBytesOfAllLayers / layers);
    return inside;
}

}  // namespace

facet::Inside inside_with(const Trace<float>& trace, const StageId& id, std::optional<std::int64_t> head, MapsWanted wanted) {
    const PlanPart part = trace.plan->part_around(id);
    facet::Inside inside{trace.plan->nodes()[part.first].id};
    double maps = 0, others = 0;
    for (std::size_t i = part.first; i < part.end; ++i) {
        const StageId& stage = trace.plan->nodes()[i].id;
        (is_map(stage) ? maps : others) += mib_of_stage(trace, stage);
    }
    const double most = most_of_part_mib(trace);
    const bool in_rows = can_compute_in_rows(trace);
    const double all_layers = static_cast<double>(trace.config.num_layers) * (maps + others);
    if (is_alone(wanted) && in_rows && is_map(id) && all_layers > most) return map_alone(trace, id, inside, wanted);
    if (maps > 0 && others > most && in_rows) inside.half = half_of(id);
    if (maps <= most || inside.half == LayerHalf::FeedForward) return inside;
    if (head && in_rows) inside.head = std::clamp<std::int64_t>(*head, 0, trace.config.num_heads - 1);
    if (maps / static_cast<double>(inside.head ? trace.config.num_heads : 1) <= most) return inside;
    if (wanted == MapsWanted::Numbers || wanted == MapsWanted::NumbersAlone || !in_rows) {
        inside.map = map_for(id);
        return inside;
    }
    inside.head.reset();
    inside.level = level_for(trace, kReducedBytes);
    return inside;
}

std::vector<StageId> stages_of(const facet::Inside& inside, const Trace<float>& trace) {
    const PlanPart part = trace.plan->part_around(inside.first);
    std::vector<StageId> stages;
    for (std::size_t i = part.first; i < part.end; ++i) {
        const StageId& id = trace.plan->nodes()[i].id;
        const bool in_half =
            !inside.half || half_of(id) == *inside.half || (!is_map(id) && is_read_in(*inside.half, *trace.plan, part, id));
        const bool holds = is_map(id) && holds_map(inside, *trace.plan, id);
        if (inside.maps_alone ? holds : in_half && (!is_map(id) || holds)) stages.push_back(id);
    }
    return stages;
}

double products_to_check(const Trace<float>& trace, const StageId& within) {
    const PlanPart part = trace.plan->part_around(within);
    double products = 0;
    for (std::size_t i = part.first; i < part.end; ++i) {
        const PlanNode& node = trace.plan->nodes()[i];
        const auto numbers = static_cast<double>(trace.shape_of(node.id).count());
        // A number of a linear map is a sum over its inputs; a score, or a mix by weights, is a sum over a head's dimensions.
        if (node.op == Op::Linear || node.op == Op::LinearByReshape) {
            const Shape inputs = trace.shape_of(node.inputs[0]);
            products += numbers * static_cast<double>(inputs[inputs.rank() - 1].size);
        }
        if (node.op == Op::Scores || node.id.stage == Stage::Weights) products += numbers * static_cast<double>(trace.config.head_size());
    }
    return products;
}

double mib_of(const facet::Inside& inside, const Trace<float>& outline) {
    double mib = 0;
    for (const StageId& id : stages_of(inside, outline))
        mib += is_map(id) && inside.level
                   ? std::ldexp(mib_of_stage(outline, id), -2 * *inside.level)
                   : mib_of_stage(outline, id) / static_cast<double>(is_map(id) && inside.head ? outline.config.num_heads : 1);
    return mib;
}

double mib_to_compute(const facet::Inside& inside, const Trace<float>& outline) {
    const double kept = mib_of(inside, outline);
    if (can_compute_in_rows(outline)) return kept;
    const PlanPart part = outline.plan->part_around(inside.first);
    double all = 0;
    for (std::size_t i = part.first; i < part.end; ++i) all += mib_of_stage(outline, outline.plan->nodes()[i].id);
    // A selection of the stages is copied out; a complete part is moved.
    return inside.map || inside.half ? all + kept : all;
}

}  // namespace attn::app
