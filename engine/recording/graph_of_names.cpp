#include "engine/recording/graph_of_names.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

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
    const std::size_t slash = tensor.name.rfind('/');
    const std::string attention = slash == std::string::npos ? "" : tensor.name.substr(0, slash);
    RecordedStage stage;
    stage.name = slash == std::string::npos ? tensor.name : tensor.name.substr(slash + 1);
    stage.op = "given";
    const std::size_t place = usual_place(stage.name);
    if (place < kUsual.size() && kUsual[place].second.size() == tensor.shape.size()) stage.axes = kUsual[place].second;
    if (attention.empty() || place == kUsual.size()) {
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

}  // namespace

RecordedGraph graph_of_names(const std::filesystem::path& file) {
    const RecordedStep step(file);
    RecordedGraph graph;
    Places places;
    for (const NamedArray& tensor : step.tensors()) add_tensor(graph, places, tensor);
    for (RecordedAttention& attention : graph.attentions)
        std::stable_sort(attention.stages.begin(), attention.stages.end(),
                         [](const RecordedStage& a, const RecordedStage& b) { return usual_place(a.name) < usual_place(b.name); });
    expect_sound(graph, step.source());
    return graph;
}

}  // namespace attn::recording
