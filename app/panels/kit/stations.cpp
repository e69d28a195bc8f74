#include "app/panels/kit/stations.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attn::app {

std::uint8_t last_attention(const std::vector<Station>& stations) {
    std::uint8_t last = kSelfAttention;
    for (const Station& station : stations)
        if (station.of_attention()) last = std::max(last, station.attention);
    return last;
}

StationKind station_kind(Stage stage) {
    switch (stage) {
    case Stage::Tokens:
        return StationKind::Words;
    case Stage::TokenEmbedding:
    case Stage::PositionEmbedding:
    case Stage::SegmentEmbedding:
    case Stage::EmbeddingIn:
    case Stage::Embedding:
    case Stage::EmbeddingNorm:
        return StationKind::ComesIn;
    case Stage::Norm1:
        return StationKind::Norm;
    case Stage::Q:
    case Stage::QNormed:
    case Stage::QRotated:
        return StationKind::Queries;
    case Stage::K:
    case Stage::KNormed:
    case Stage::KRotated:
        return StationKind::Keys;
    case Stage::V:
        return StationKind::Values;
    case Stage::Scores:
        return StationKind::Scores;
    case Stage::Scaled:
    case Stage::Capped:
    case Stage::Biased:
        return StationKind::Scaled;
    case Stage::Masked:
        return StationKind::Mask;
    case Stage::Softmax:
    case Stage::Weights:
    case Stage::Dropped:
        return StationKind::Weights;
    case Stage::Other:
        return StationKind::Other;
    case Stage::Context:
        return StationKind::Mixed;
    case Stage::Concat:
    case Stage::AttentionOut:
    case Stage::AttentionNorm:
        return StationKind::Joined;
    case Stage::Residual1:
        return StationKind::Added;
    case Stage::Norm2:
    case Stage::FfnGate:
    case Stage::FfnHidden:
    case Stage::FfnActivation:
    case Stage::FfnGated:
    case Stage::FfnOut:
    case Stage::FfnNorm:
    case Stage::Residual2:
        return StationKind::FeedForward;
    case Stage::FinalNorm:
    case Stage::HeadHidden:
    case Stage::HeadActivation:
    case Stage::HeadNorm:
    case Stage::HeadScaled:
    case Stage::HeadIn:
    case Stage::Logits:
    case Stage::LogitsCapped:
    case Stage::Probabilities:
        return StationKind::Next;
    }
    return StationKind::Next;
}

namespace {

/// The stage for which a station is named, where that is not its first.
bool names_station(Stage stage) { return stage == Stage::Embedding || stage == Stage::FfnOut || stage == Stage::Probabilities; }

void add(std::vector<Station>& stations, StationKind kind, const PlanNode& node) {
    const StageId& id = node.id;
    if (kind == StationKind::Other) return void(stations.push_back({kind, id.attention, {id}, id, node.origin.name}));
    const auto found = std::find_if(stations.begin(), stations.end(),
                                    [&](const Station& one) { return one.kind == kind && one.attention == id.attention; });
    if (found == stations.end()) return void(stations.push_back({kind, id.attention, {id}, id}));
    found->stages.push_back(id);
    if (names_station(id.stage)) found->opens = id;
}

/// The nodes [first, end) of a layer, or of what stands before or after a stack's layers. Found from a node of it, so that the work does
/// not grow with the number of layers.
struct Run {
    std::size_t first = 0, end = 0;
    bool empty() const { return first == end; }
};

Run run_with(const std::vector<PlanNode>& nodes, std::size_t at) {
    const auto belongs = [&](std::size_t i) { return nodes[i].id.layer == nodes[at].id.layer && nodes[i].id.stack == nodes[at].id.stack; };
    Run run{at, at + 1};
    while (run.first > 0 && belongs(run.first - 1)) --run.first;
    while (run.end < nodes.size() && belongs(run.end)) ++run.end;
    return run;
}

/// The run before (-1) or after (+1) in the same stack; empty if there is none.
Run beside(const std::vector<PlanNode>& nodes, const Run& run, int direction) {
    if (direction < 0 ? run.first == 0 : run.end == nodes.size()) return {};
    const std::size_t at = direction < 0 ? run.first - 1 : run.end;
    return nodes[at].id.stack == nodes[run.first].id.stack ? run_with(nodes, at) : Run{};
}

bool is_layer(const std::vector<PlanNode>& nodes, const Run& run) { return !run.empty() && nodes[run.first].id.layer >= 0; }

/// The layer of a stage; of the first or last layer for a stage before or after the layers.
Run layer_of(const Plan& plan, const StageId& at) {
    const auto& nodes = plan.nodes();
    const PlanNode* const node = plan.find(at);
    const Run run = run_with(nodes, node == nullptr ? 0 : static_cast<std::size_t>(node - nodes.data()));
    if (is_layer(nodes, run)) return run;
    for (const int direction : {-1, +1})
        if (const Run other = beside(nodes, run, direction); !other.empty()) return other;
    return run;
}

/// The attention that a stage is shown with: its own, or for what comes after the attentions the layer's last.
std::uint8_t attention_shown(const std::vector<Station>& stations, const StageId& at) {
    const StationKind kind = stations[station_with(stations, at)].kind;
    const bool after = kind == StationKind::FeedForward || kind == StationKind::GoesOn || kind == StationKind::Next;
    return after ? last_attention(stations) : at.attention;
}

}  // namespace

std::vector<Station> stations_of(const Plan& plan, const StageId& at, bool of_one_attention) {
    const auto& nodes = plan.nodes();
    const Run layer = layer_of(plan, at), before = beside(nodes, layer, -1), after = beside(nodes, layer, +1);
    std::vector<Station> stations;
    if (is_layer(nodes, before)) {
        if (const PlanNode* tokens = plan.find({Stage::Tokens, -1, nodes[layer.first].id.stack}))
            add(stations, StationKind::Words, *tokens);
        add(stations, StationKind::ComesIn, nodes[before.end - 1]);
    } else {
        for (std::size_t i = before.first; i < before.end; ++i) add(stations, station_kind(nodes[i].id.stage), nodes[i]);
    }
    // After the last layer, what comes out of it is the result, unless nothing follows in its stack.
    const bool result_follows = !after.empty() && !is_layer(nodes, after);
    for (std::size_t i = layer.first; i < layer.end; ++i) {
        const StationKind kind = station_kind(nodes[i].id.stage);
        const bool gives_out = is_layer(nodes, layer) && i + 1 == layer.end && !result_follows && kind >= StationKind::Joined;
        add(stations, gives_out ? StationKind::GoesOn : kind, nodes[i]);
    }
    if (result_follows)
        for (std::size_t i = after.first; i < after.end; ++i) add(stations, StationKind::Next, nodes[i]);
    if (!of_one_attention) return stations;
    const std::uint8_t attention = attention_shown(stations, at);
    std::erase_if(stations, [&](const Station& one) { return one.of_attention() && one.attention != attention; });
    return stations;
}

std::size_t station_with(const std::vector<Station>& stations, const StageId& at) {
    const auto found = std::find_if(stations.begin(), stations.end(), [&](const Station& one) {
        return std::find(one.stages.begin(), one.stages.end(), at) != one.stages.end();
    });
    return found == stations.end() ? 0 : static_cast<std::size_t>(found - stations.begin());
}

const PlanNode* next_station(const Plan& plan, const StageId& at, int direction) {
    const std::vector<Station> stations = stations_of(plan, at, false);
    const std::size_t now = station_with(stations, at);
    if (direction < 0 && now > 0) return plan.find(stations[now - 1].opens);
    if (direction > 0 && now + 1 < stations.size()) return plan.find(stations[now + 1].opens);
    // Beyond the layer: the stage after or before it, or rather that stage's station.
    const PlanNode* edge = plan.find(direction > 0 ? stations.back().stages.back() : stations.front().stages.front());
    const std::ptrdiff_t next = edge - plan.nodes().data() + direction;
    if (edge == nullptr || next < 0 || next >= std::ssize(plan.nodes())) return nullptr;
    const StageId& beyond = plan.nodes()[static_cast<std::size_t>(next)].id;
    const std::vector<Station> others = stations_of(plan, beyond, false);
    return plan.find(others[station_with(others, beyond)].opens);
}

std::string station_name(const Station& station, std::string_view noun) {
    switch (station.kind) {
    case StationKind::Words:
        return fmt::format("{}s", noun);
    case StationKind::ComesIn:
        return "comes in";
    case StationKind::Norm:
        return "norm";
    case StationKind::Queries:
        return "queries";
    case StationKind::Keys:
        return "keys";
    case StationKind::Values:
        return "values";
    case StationKind::Scores:
        return "q · k";
    case StationKind::Scaled:
        return "÷ √d";
    case StationKind::Mask:
        return "mask";
    case StationKind::Weights:
        return "weights";
    case StationKind::Other:
        return station.name;
    case StationKind::Mixed:
        return "mixed";
    case StationKind::Joined:
        return "joined";
    case StationKind::Added:
        return "added";
    case StationKind::FeedForward:
        return "feed-forward";
    case StationKind::GoesOn:
        return "goes on";
    case StationKind::Next:
        return station.stages.back().stage == Stage::Probabilities ? fmt::format("next {}", noun) : "result";
    }
    return "";
}

std::string station_heading(const Station& station, std::string_view noun) {
    switch (station.kind) {
    case StationKind::Words:
        return fmt::format("The {}s and their numbers", noun);
    case StationKind::ComesIn:
        return "What the layer reads";
    case StationKind::Norm:
        return "Brought to one size";
    case StationKind::Queries:
        return fmt::format("What each {} looks for", noun);
    case StationKind::Keys:
        return fmt::format("What each {} can be found by", noun);
    case StationKind::Values:
        return fmt::format("What each {} has to give", noun);
    case StationKind::Scores:
        return "How well they fit";
    case StationKind::Scaled:
        return "Kept small";
    case StationKind::Mask:
        return "Who may look at whom";
    case StationKind::Weights:
        return "Who looks at whom";
    case StationKind::Other:
        return station.name;
    case StationKind::Mixed:
        return fmt::format("What each {} takes in", noun);
    case StationKind::Joined:
        return "All heads together";
    case StationKind::Added:
        return fmt::format("Added to the {}", noun);
    case StationKind::FeedForward:
        return fmt::format("Each {} by itself", noun);
    case StationKind::GoesOn:
        return "What the layer gives out";
    case StationKind::Next:
        return station.stages.back().stage == Stage::Probabilities ? "What comes next" : "What the model gives out";
    }
    return "";
}

}  // namespace attn::app
