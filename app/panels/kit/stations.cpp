#include "app/panels/kit/stations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/panels/kit/model_blocks.hpp"

namespace attn::app {
namespace {

StationKind kind_of(Stage stage) {
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
    case Stage::Weights:
    case Stage::Dropped:
        return StationKind::Weights;
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

/// The stage for which a station is named, where that is not its first.
bool names_station(Stage stage) { return stage == Stage::Embedding || stage == Stage::FfnOut || stage == Stage::Probabilities; }

void add(std::vector<Station>& stations, StationKind kind, const StageId& id) {
    const auto found = std::find_if(stations.begin(), stations.end(),
                                    [&](const Station& one) { return one.kind == kind && one.attention == id.attention; });
    if (found == stations.end()) return void(stations.push_back({kind, id.attention, {id}, id}));
    found->stages.push_back(id);
    if (names_station(id.stage)) found->opens = id;
}

struct Place {
    std::size_t first = 0, layer = 0, last = 0;  ///< blocks: the first of the stack, the layer, the last of the stack
};

Place place_of(const std::vector<ModelBlock>& blocks, std::size_t at) {
    Place place{at, at, at};
    while (place.first > 0 && blocks[place.first - 1].stack == blocks[at].stack) --place.first;
    while (place.last + 1 < blocks.size() && blocks[place.last + 1].stack == blocks[at].stack) ++place.last;
    if (blocks[at].kind == BlockKind::Start && at < place.last) place.layer = at + 1;
    if (blocks[at].kind == BlockKind::End && at > place.first) place.layer = at - 1;
    return place;
}

/// The attention that a stage is shown with: its own, or for what comes after the attentions the layer's last.
std::uint8_t attention_shown(const std::vector<Station>& stations, const StageId& at) {
    std::uint8_t last = kSelfAttention;
    for (const Station& station : stations)
        if (station.of_attention()) last = std::max(last, station.attention);
    const StationKind kind = stations[station_with(stations, at)].kind;
    const bool after = kind == StationKind::FeedForward || kind == StationKind::GoesOn || kind == StationKind::Next;
    return after ? last : at.attention;
}

}  // namespace

std::vector<Station> stations_of(const Plan& plan, const StageId& at, bool of_one_attention) {
    const std::vector<ModelBlock> blocks = model_blocks(plan);
    const Place place = place_of(blocks, block_of(blocks, plan, at));
    const auto& nodes = plan.nodes();
    std::vector<Station> stations;
    const ModelBlock& start = blocks[place.first];
    if (start.kind == BlockKind::Start && place.layer != place.first)
        for (std::size_t i = start.first; i < start.end; ++i)
            if (nodes[i].id.stage == Stage::Tokens || place.layer == place.first + 1)
                add(stations, kind_of(nodes[i].id.stage), nodes[i].id);
    if (place.layer > place.first && blocks[place.layer - 1].kind == BlockKind::Layer)
        add(stations, StationKind::ComesIn, nodes[blocks[place.layer - 1].end - 1].id);
    const ModelBlock& layer = blocks[place.layer];
    const bool ends_stack = place.layer == place.last || blocks[place.layer + 1].kind == BlockKind::End;
    for (std::size_t i = layer.first; i < layer.end; ++i) {
        const bool gives_out = layer.kind == BlockKind::Layer && i + 1 == layer.end && !(ends_stack && place.layer < place.last);
        add(stations, gives_out ? StationKind::GoesOn : kind_of(nodes[i].id.stage), nodes[i].id);
    }
    if (ends_stack)
        for (std::size_t b = place.layer + 1; b <= place.last; ++b)
            for (std::size_t i = blocks[b].first; i < blocks[b].end; ++i) add(stations, StationKind::Next, nodes[i].id);
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
