#include "engine/recording/follow.hpp"

#include <map>
#include <memory>

#include "engine/recording/follower.hpp"
#include "engine/tensor/error.hpp"

namespace attn::recording {
FindParameter parameters_as_of(const Recording& recording, const StepFile& step) {
    std::vector<StepFile> files;
    for (const StepFile& each : recording.steps)
        if (each.rank == step.rank && each.step <= step.step) files.push_back(each);
    // Which file has the newest numbers of each; found when the first is asked for.
    auto newest = std::make_shared<std::optional<std::map<std::string, StepFile>>>();
    return [newest, files](const std::string& name) -> std::optional<NamedArray> {
        if (!*newest) {
            newest->emplace();
            for (const StepFile& file : files)
                for (const RecordedStep opened(file); const NamedArray& tensor : opened.tensors())
                    if (tensor.name.starts_with(kParameters)) (**newest)[tensor.name.substr(kParameters.size())] = file;
        }
        const auto found = (*newest)->find(name);
        if (found == (*newest)->end()) return {};
        return RecordedStep(found->second).read(std::string(kParameters) + name);
    };
}

std::optional<Numbers> computed_stage(const RecordedGraph& graph, const RecordedAttention& attention, const RecordedStage& stage,
                                      const RecordedStep& step, const FindParameter& parameter) {
    try {
        return Follower(graph, attention, step, parameter).computed(stage);
    } catch (const NotComputed&) {
        return {};
    }
}

std::vector<StageCheck> check_stages(const RecordedGraph& graph, const RecordedAttention& attention, const RecordedStep& step,
                                     const FindParameter& parameter, const std::stop_token& stop) {
    Follower follower(graph, attention, step, parameter);
    std::vector<StageCheck> checks;
    for (const RecordedStage& stage : attention.stages) {
        if (stop.stop_requested()) throw Cancelled();
        checks.push_back(follower.check(stage));
    }
    // Of a kernel that computes a whole layer, what it leaves confirms what follows inside.
    for (const RecordedStage& stage : graph.around)
        if (!stage.kernel.empty() && stage.kernel == attention.name && stage.have == Have::Recorded)
            checks.push_back(follower.check_result(stage));
    return checks;
}

}  // namespace attn::recording
