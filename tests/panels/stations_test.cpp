/// The stations of every layer of every example and of random models.

#include "app/panels/kit/stations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "app/session/document/presets.hpp"
#include "tests/support/random_model.hpp"

namespace attn::app {
namespace {

Plan plan_of(std::string_view preset) {
    Config config = find_preset(preset).document.config;
    config.vocab_size = config.context_length = 9;  // determined by the text
    return Plan(config);
}

std::string name_of(const StageId& id) { return tensor_name(id); }

/// What is wrong with the stations of a plan's layers; "" if nothing is.
std::string wrong_stations(const Plan& plan, std::vector<Station> (*stations_at)(const Plan&, const StageId&, bool)) {
    std::set<std::string> reached;
    for (const PlanNode& node : plan.nodes()) {
        const std::vector<Station> stations = stations_at(plan, node.id, false);
        const std::size_t at = station_with(stations, node.id);
        const auto& own = stations[at].stages;
        if (std::find(own.begin(), own.end(), node.id) == own.end()) return name_of(node.id) + " is in no station of its layer";
        reached.insert(name_of(node.id));
        std::map<std::string, int> times;
        for (const Station& station : stations) {
            if (station.stages.empty()) return "a station without stages";
            if (std::find(station.stages.begin(), station.stages.end(), station.opens) == station.stages.end())
                return "a station opens a stage of another";
            if (station_name(station, "word").empty() || station_heading(station, "word").empty()) return "a station without a name";
            for (const StageId& id : station.stages) {
                if (plan.find(id) == nullptr) return "a stage that the plan does not have";
                if (++times[name_of(id)] > 1) return name_of(id) + " is in two stations";
            }
        }
        // With one attention: the stage itself is always there.
        const std::vector<Station> one = stations_at(plan, node.id, true);
        const auto& shown = one[station_with(one, node.id)].stages;
        if (std::find(shown.begin(), shown.end(), node.id) == shown.end()) return name_of(node.id) + " is hidden where it is shown";
        std::set<std::uint8_t> attentions;
        for (const Station& station : one)
            if (station.of_attention()) attentions.insert(station.attention);
        if (attentions.size() > 1) return "two attentions at once";
    }
    return reached.size() == plan.nodes().size() ? "" : "a stage is missing";
}

/// Walking goes through the model in order, and back the same way.
std::string wrong_walk(const Plan& plan) {
    const auto place = [&](const StageId& id) { return plan.find(id) - plan.nodes().data(); };
    std::vector<StageId> way{plan.nodes().front().id};
    while (const PlanNode* next = next_station(plan, way.back(), +1)) {
        if (place(next->id) <= place(way.back()) && next->id.stack == way.back().stack && next->id.layer == way.back().layer)
            return "a step back at " + name_of(next->id);
        way.push_back(next->id);
        if (way.size() > plan.nodes().size()) return "it goes round";
    }
    if (way.back().stack != plan.nodes().back().id.stack || way.back().layer != plan.nodes().back().id.layer)
        return "it ends at " + name_of(way.back());
    for (std::size_t i = way.size(); i-- > 1;) {
        const PlanNode* before = next_station(plan, way[i], -1);
        if (before == nullptr) return "no way back from " + name_of(way[i]);
        if (!(before->id == way[i - 1])) return "another way back from " + name_of(way[i]) + " to " + name_of(before->id);
    }
    return "";
}

std::vector<Station> without_the_last_stage(const Plan& plan, const StageId& at, bool one) {
    std::vector<Station> stations = stations_of(plan, at, one);
    if (stations.back().stages.size() > 1) stations.back().stages.pop_back();
    return stations;
}

TEST(Stations, HaveEveryStageOnceAndCanBeWalked) {
    for (const Preset& preset : presets()) {
        const Plan plan = plan_of(preset.name);
        EXPECT_EQ(wrong_stations(plan, stations_of), "") << preset.name;
        EXPECT_EQ(wrong_walk(plan), "") << preset.name;
    }
    for (unsigned seed = 0; seed < 300; ++seed) {
        testing_support::RandomModel model(seed);
        const Plan plan(model.config);
        EXPECT_EQ(wrong_stations(plan, stations_of), "") << seed;
        EXPECT_EQ(wrong_walk(plan), "") << seed;
    }
}

TEST(Stations, TheCheckFindsAMissingStage) {
    const Plan plan = plan_of("gpt-tiny");
    EXPECT_NE(wrong_stations(plan, without_the_last_stage), "");
}

TEST(Stations, ALayerOfTheFlagshipHasFifteen) {
    const Plan plan = plan_of("stories");
    const std::vector<Station> third = stations_of(plan, {Stage::Weights, 2}, true);
    std::vector<std::string> names;
    for (const Station& station : third) names.push_back(station_name(station, "word"));
    EXPECT_EQ(names, (std::vector<std::string>{"words", "comes in", "norm", "queries", "keys", "values", "q · k", "÷ √d", "mask", "weights",
                                               "mixed", "joined", "added", "feed-forward", "goes on"}));
    EXPECT_EQ(name_of(third[1].opens), "layers.1.residual_2") << "what the layer before gives out";
    EXPECT_EQ(name_of(stations_of(plan, {Stage::Weights, 0}, true)[1].opens), "embedding");
    const std::vector<Station> last = stations_of(plan, {Stage::Weights, 3}, true);
    EXPECT_EQ(station_name(last.back(), "word"), "next word");
    EXPECT_EQ(last.back().opens.stage, Stage::Probabilities);
}

}  // namespace
}  // namespace attn::app
