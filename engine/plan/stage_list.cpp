#include "engine/plan/stage_list.hpp"

namespace attn {
namespace {

void add_stage(std::string& list, const StageId& id) {
    if (!list.empty()) list += ", ";
    list += stage_name(id);
}

/// Stages of a later layer than the first have the same names.
std::string stages_of_stack(const Plan& plan, Stack stack) {
    std::string list;
    for (const PlanNode& node : plan.nodes())
        if (node.id.stack == stack && node.id.layer <= 0) add_stage(list, node.id);
    return list;
}

}  // namespace

std::string stages_of(const Plan& plan) {
    const std::string encoder = stages_of_stack(plan, Stack::Encoder);
    if (encoder.empty()) return stages_of_stack(plan, Stack::Main);
    return "encoder: " + encoder + "; decoder: " + stages_of_stack(plan, Stack::Decoder);
}

std::string all_stages() {
    std::string list;
    for (const StageId& id : every_stage()) add_stage(list, id);
    return list;
}

}  // namespace attn
