/// Models of ours that no class of Hugging Face's transformers computes: config.json has our configuration, tensors have our names.

#include <array>
#include <set>

#include "engine/families/family.hpp"
#include "engine/plan/config_json.hpp"
#include "engine/plan/plan.hpp"

namespace attn {
namespace {

constexpr std::array<std::string_view, 1> kOwnTypes = {"attnscope"};
constexpr std::array<std::string_view, 1> kOwnPrefixes = {""};

Config read_own_config(JsonObject& json) { return config_from_json(json.object("attnscope")); }

std::vector<TensorSource> own_tensors(const Config& config) {
    std::vector<TensorSource> out;
    std::set<std::string> listed;
    const Plan plan(config);
    for (const PlanNode& node : plan.nodes())
        for (const std::string& name : {node.weight.name, node.bias.name})
            if (!name.empty() && listed.insert(name).second) out.push_back({name, name});
    return out;
}

Leftover own_leftover(std::string_view, const Config&) { return Leftover::Unknown; }

}  // namespace

constinit const Family kOwnFamily{.name = "attnscope",
                                  .model_types = kOwnTypes,
                                  .prefixes = kOwnPrefixes,
                                  .read_config = read_own_config,
                                  .tensors = own_tensors,
                                  .leftover = own_leftover};

}  // namespace attn
