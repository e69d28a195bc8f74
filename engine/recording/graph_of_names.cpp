#include "engine/recording/graph_of_names.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <map>
#include <utility>

#include "engine/recording/follow.hpp"
#include "engine/recording/graph_check.hpp"
#include "engine/recording/recorded_step.hpp"

namespace attn::recording {
namespace {

/// In the order of the code, with their axes.
constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kUsual{{{"q", "BHTD"},
                                                                                {"k", "BGSD"},
                                                                                {"v", "BGSD"},
                                                                                {"q_rotated", "BHTD"},
                                                                                {"k_rotated", "BGSD"},
                                                                                {"scores", "BHTS"},
                                                                                {"scaled", "BHTS"},
                                                                                {"capped", "BHTS"},
                                                                                {"masked", "BHTS"},
                                                                                {"softmax", "BHTS"},
                                                                                {"weights", "BHTS"},
                                                                                {"dropped", "BHTS"},
                                                                                {"context", "BHTD"},
                                                                                {"concat", "BTC"},
                                                                                {"attention_out", "BTC"}}};

std::size_t usual_place(std::string_view stage) {
    const auto found = std::find_if(kUsual.begin(), kUsual.end(), [&](const auto& each) { return each.first == stage; });
    return static_cast<std::size_t>(found - kUsual.begin());
}

/// Places of attentions in the graph, by name.
using Places = std::map<std::string, std::size_t, std::less<>>;

void add_tensor(RecordedGraph& graph, Places& places, const NamedArray& tensor) {
    const std::size_t end = tensor.name.find_last_of("/."), rank = tensor.shape.size();
    const std::string attention = end == std::string::npos ? "" : tensor.name.substr(0, end);
    RecordedStage stage;
    stage.name = end == std::string::npos ? tensor.name : tensor.name.substr(end + 1);
    stage.op = "given";
    const std::size_t place = usual_place(stage.name);
    // What is missing of the usual axes are sequences, then heads.
    if (place < kUsual.size() && rank >= 2 && rank <= kUsual[place].second.size())
        stage.axes = kUsual[place].second.substr(kUsual[place].second.size() - rank);
    stage.tensor = tensor.name;
    if (stage.axes.empty()) {
        stage.name = tensor.name;
        graph.around.push_back(std::move(stage));
        return;
    }
    const auto [known, is_new] = places.emplace(attention, graph.attentions.size());
    if (is_new) graph.attentions.emplace_back().name = attention;
    RecordedAttention& owner = graph.attentions[known->second];
    for (std::size_t axis = 0; axis < stage.axes.size(); ++axis)
        owner.sizes[stage.axes[axis]] = std::max(owner.sizes[stage.axes[axis]], tensor.shape[axis]);
    owner.stages.push_back(std::move(stage));
}

/// The first of these stages that the attention has; "" if none.
std::string first_of(const RecordedAttention& attention, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names)
        if (attention.find(name) != nullptr) return std::string(name);
    return "";
}

/// What a stage of this name usually is; without an operation where that is not known.
RecordedStage as_usual(const RecordedAttention& attention, RecordedStage stage) {
    const auto is = [&](std::string_view op, std::vector<std::string> inputs) {
        if (std::find(inputs.begin(), inputs.end(), "") != inputs.end()) return;
        stage.op = op;
        stage.inputs = std::move(inputs);
    };
    const auto width = static_cast<double>(attention.size('D'));
    if (stage.name == "scores") is("product", {first_of(attention, {"q_rotated", "q"}), first_of(attention, {"k_rotated", "k"})});
    if (stage.name == "scaled") {
        is("scale", {first_of(attention, {"scores"})});
        stage.by = 1 / std::sqrt(width);
    }
    if (stage.name == "masked") is("mask", {first_of(attention, {"capped", "scaled", "scores"})});
    if (stage.name == "softmax" || stage.name == "weights") is("softmax", {first_of(attention, {"masked", "capped", "scaled", "scores"})});
    if (stage.name == "context") is("product", {first_of(attention, {"dropped", "weights"}), first_of(attention, {"v"})});
    if (stage.name == "concat") {
        is("concat", {first_of(attention, {"context"})});
        stage.channels = "HD";
    }
    return stage;
}

/// Names tell how a stage is usually computed. Where its numbers are just that, it is taken for granted; of a mask only which cells it
/// hides.
void suppose_usual_operations(const RecordedGraph& graph, RecordedAttention& attention, const RecordedStep& step) {
    constexpr std::int64_t kMost = std::int64_t{1} << 22;  // more would be noticed while a file is opened
    std::int64_t numbers = 0;
    for (const NamedArray& tensor : step.tensors()) numbers += count_of(tensor);
    if (numbers > kMost) return;
    if (attention.size('G') > 0 && attention.size('H') % attention.size('G') == 0)
        attention.repeat = attention.size('H') / attention.size('G');
    RecordedAttention supposed = attention;
    for (RecordedStage& stage : supposed.stages) stage = as_usual(attention, stage);
    const auto no_parameter = [](const std::string&) -> std::optional<NamedArray> { return {}; };
    const std::vector<StageCheck> checks = check_stages(graph, supposed, step, no_parameter);
    for (std::size_t i = 0; i < checks.size(); ++i)
        if (checks[i].outcome == Outcome::Follows || supposed.stages[i].op == "mask") attention.stages[i] = supposed.stages[i];
}

}  // namespace

RecordedGraph graph_of_names(const StepFile& file) {
    const RecordedStep step(file);
    RecordedGraph graph;
    Places places;
    for (const NamedArray& tensor : step.tensors()) add_tensor(graph, places, tensor);
    for (RecordedAttention& attention : graph.attentions)
        std::stable_sort(attention.stages.begin(), attention.stages.end(),
                         [](const RecordedStage& a, const RecordedStage& b) { return usual_place(a.name) < usual_place(b.name); });
    expect_sound(graph, step.source());
    for (RecordedAttention& attention : graph.attentions) suppose_usual_operations(graph, attention, step);
    return graph;
}

}  // namespace attn::recording
