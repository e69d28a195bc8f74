#pragma once
/// The stations of a layer: its stages, grouped under names that a newcomer can tell apart, from the words to what the layer gives out.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/plan.hpp"

namespace attn::app {

enum class StationKind : std::uint8_t {
    Words,
    ComesIn,  ///< what the layer reads
    Norm,
    Queries,
    Keys,
    Values,
    Scores,
    Scaled,
    Mask,
    Weights,
    Other,  ///< of recorded code, by its name there
    Mixed,
    Joined,
    Added,
    FeedForward,
    GoesOn,  ///< what the layer gives out
    Next,    ///< after the last layer
};

struct Station {
    StationKind kind = StationKind::Words;
    std::uint8_t attention = kSelfAttention;
    std::vector<StageId> stages{};  ///< in order of computation, at least one
    StageId opens{};                ///< the one shown first
    std::string name{};             ///< of StationKind::Other: as the recorded code calls it
    std::string missing{};          ///< why recorded code has no numbers of it; then it has no stages
    std::string lacks{};            ///< lines about stages of it without numbers, beside others that have some
    /// Whether it belongs to one of the layer's attentions.
    bool of_attention() const { return kind >= StationKind::Norm && kind <= StationKind::Added; }
};

/// The station of a role.
StationKind station_kind(Stage stage);

/// The stations of the layer that `at` belongs to; of the first or last layer for a stage before or after the layers. With those of all
/// attentions of the layer, or only of the one that `at` belongs to (after the attentions: the last one).
std::vector<Station> stations_of(const Plan& plan, const StageId& at, bool of_one_attention);
/// The last attention of a layer with these stations.
std::uint8_t last_attention(const std::vector<Station>& stations);
/// The station that has the stage; 0 if none has.
std::size_t station_with(const std::vector<Station>& stations, const StageId& at);
/// The station after (+1) or before (-1) the one with this stage, in this layer or the next; none at the ends of the model.
const PlanNode* next_station(const Plan& plan, const StageId& at, int direction);

/// Such as "queries"; `noun`: what a token is called, see token_noun().
std::string station_name(const Station& station, std::string_view noun);
/// A heading in plain words, such as "Who looks at whom".
std::string station_heading(const Station& station, std::string_view noun);

}  // namespace attn::app
