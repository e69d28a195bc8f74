/// A plan describes what a pass computes: the stages recorded in traces, in order and with their shapes, from earlier stages and existing
/// parameters.

#include "engine/plan/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "engine/plan/stage_list.hpp"
#include "engine/tensor/error.hpp"
#include "tests/support/random_model.hpp"

namespace attn {
namespace {

using testing_support::RandomModel;

std::int64_t size_of(Axis axis, const Config& config, std::int64_t batch, std::int64_t queries, std::int64_t keys) {
    switch (axis) {
    case Axis::B:
        return batch;
    case Axis::H:
        return config.num_heads;
    case Axis::G:
        return config.kv_heads();
    case Axis::T:
        return queries;
    case Axis::S:
        return keys;
    case Axis::D:
        return config.head_size();
    case Axis::F:
        return config.d_ff;
    case Axis::V:
        return config.vocab_size;
    default:
        return config.d_model;
    }
}

/// Differences between a plan and a trace; empty if there are none.
std::vector<std::string> disagreements(const Plan& plan, const Trace<float>& trace) {
    std::vector<std::string> found;
    std::vector<StageId> recorded, planned;
    for (const auto& stage : trace.stages) recorded.push_back(stage.id);
    for (const PlanNode& node : plan.nodes()) planned.push_back(node.id);
    if (recorded != planned) found.push_back("other stages or another order");
    std::vector<StageId> seen;
    for (const PlanNode& node : plan.nodes()) {
        const std::string name = tensor_name(node.id);
        for (const StageId& input : node.inputs)
            if (std::find(seen.begin(), seen.end(), input) == seen.end()) found.push_back(name + " reads what comes later");
        seen.push_back(node.id);
        for (const PlanParameter& used : {node.weight, node.bias}) {
            if (used.empty()) continue;
            const ParameterPlace place = trace.parameters->layout().place(used.name);
            if (place.whole == nullptr) found.push_back(name + " uses " + used.name + ", which there is not");
            else if (place.first_column + place.columns > place.stride()) found.push_back(used.name + " lies beyond its columns");
        }
        const auto* stage = trace.find(node.id);
        if (stage == nullptr) continue;
        const bool source = node.id.stack == Stack::Encoder;
        const std::int64_t own = source ? trace.source_tokens.length : trace.tokens.length,
                           keys = node.id.attention == kCrossAttention ? trace.source_tokens.length : own;
        Shape shape;
        for (const Axis axis : node.axes) {
            const bool joined = node.op == Op::JoinHeads && axis == Axis::C;
            shape.push_back({axis, joined ? trace.config.attention_width() : size_of(axis, trace.config, trace.tokens.size(), own, keys)});
        }
        if (shape.text() != stage->value.shape().text())
            found.push_back(name + " is " + stage->value.shape().text() + ", not " + shape.text());
    }
    return found;
}

TEST(Plan, IsWhatAPassComputes) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        RandomModel model(seed);
        model.settings.mistake = Mistake::None;
        const Trace<float> trace = model.trace<float>();
        EXPECT_THAT(disagreements(Plan(model.config), trace), testing::IsEmpty()) << "seed " << seed;
        if (testing::Test::HasFailure()) break;
    }
}

TEST(Plan, EveryParameterIsUsed) {
    for (unsigned seed = 0; seed < 100; ++seed) {
        const RandomModel model(seed);
        const Plan plan(model.config);
        const ParameterLayout layout(model.config);
        std::set<std::pair<std::string, std::int64_t>> used, all;  // pairs of a parameter and one of its columns
        const auto add = [](auto& to, const ParameterPlace& place) {
            for (std::int64_t i = 0; place.whole != nullptr && i < place.columns; ++i)
                to.emplace(place.whole->name, place.first_column + i);
        };
        for (const PlanNode& node : plan.nodes())
            for (const PlanParameter& one : {node.weight, node.bias}) add(used, layout.place(one.name));
        for (const ParameterInfo& entry : layout.entries()) add(all, layout.place(entry.name));
        EXPECT_EQ(used, all) << "seed " << seed;
    }
}

TEST(Plan, ThatDisagreesIsSeen) {
    const RandomModel model(1);
    const Trace<float> trace = model.trace<float>();
    Config other = model.config;
    other.norm = other.norm == NormPlacement::Pre ? NormPlacement::Post : NormPlacement::Pre;
    EXPECT_THAT(disagreements(Plan(other), trace), testing::Not(testing::IsEmpty()));
    other = model.config;
    other.feed_forward = !other.feed_forward;
    EXPECT_THAT(disagreements(Plan(other), trace), testing::Not(testing::IsEmpty()));
}

TEST(Plan, StreamsAreTheEmbeddingAndTheEndOfEveryLayer) {
    Config config;
    config.num_layers = 2;
    const std::vector<StageId> pre{{Stage::Embedding, -1}, {Stage::Residual2, 0}, {Stage::Residual2, 1}};
    EXPECT_EQ(Plan(config).streams(Stack::Main), pre);
    config.norm = NormPlacement::Post;
    const std::vector<StageId> post{{Stage::Embedding, -1}, {Stage::Norm2, 0}, {Stage::Norm2, 1}};
    EXPECT_EQ(Plan(config).streams(Stack::Main), post);
    config.architecture = Architecture::EncoderDecoder;
    EXPECT_EQ(Plan(config).streams(Stack::Decoder).size(), 3U);
    EXPECT_THAT(Plan(config).streams(Stack::Main), testing::IsEmpty());
}

TEST(Plan, AStageThatTheModelLacksIsRefusedByName) {
    Config config;
    config.output_projection = false;
    const Plan plan(config);
    EXPECT_EQ(plan.find({Stage::AttentionOut, 0}), nullptr);
    try {
        plan.at({Stage::AttentionOut, 0});
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "the model has no stage layers.0.attention_out");
    }
}

/// An encoder-decoder has two stages of one name, which are told apart.
TEST(Plan, ItsListOfStagesNamesEachOnce) {
    const auto names_in = [](const std::string& list) {
        std::vector<std::string> names;
        std::istringstream words(list);
        for (std::string name; std::getline(words, name, ',');) names.push_back(name.substr(name.find_first_not_of(' ')));
        return names;
    };
    Config config;
    config.num_layers = 3;
    const std::vector<std::string> of_one = names_in(stages_of(Plan(config)));
    EXPECT_EQ(of_one.front(), "tokens");
    EXPECT_EQ(of_one.back(), "probabilities");
    EXPECT_EQ(std::set<std::string>(of_one.begin(), of_one.end()).size(), of_one.size());
    config.architecture = Architecture::EncoderDecoder;
    const std::string both = stages_of(Plan(config));
    const std::string begin = "encoder: ", between = "; decoder: ";
    ASSERT_TRUE(both.starts_with(begin)) << both;
    const std::size_t at = both.find(between);
    ASSERT_NE(at, std::string::npos) << both;
    for (const std::string& list : {both.substr(begin.size(), at - begin.size()), both.substr(at + between.size())}) {
        const std::vector<std::string> names = names_in(list);
        EXPECT_THAT(names, testing::Contains("weights"));
        EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size()) << list;
    }
    EXPECT_GT(both.find("cross_weights"), at) << "of the decoder";
    for (const std::string& name : names_in(all_stages())) EXPECT_TRUE(stage_from_name(name)) << name;
}

TEST(Plan, KnowsWhatIsComputedFirst) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const Plan plan(RandomModel(seed, seed % 2 == 0).config);
        for (std::size_t i = 0; i < plan.nodes().size(); ++i)
            for (std::size_t j = 0; j < plan.nodes().size(); ++j) EXPECT_EQ(plan.before(plan.nodes()[i].id, plan.nodes()[j].id), i < j);
        const StageId nowhere{Stage::Weights, 1000};
        EXPECT_FALSE(plan.before(nowhere, plan.nodes().back().id));
        EXPECT_FALSE(plan.before(plan.nodes().front().id, nowhere));
    }
}

TEST(Plan, TellsTheShapeOfEveryStage) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE(seed);
        const RandomModel model(seed, seed % 2 == 0);
        const Trace<float> trace = model.trace<float>();
        for (const auto& stage : trace.stages) EXPECT_EQ(trace.shape_of(stage.id), stage.value.shape()) << tensor_name(stage.id);
    }
}

/// What is wrong with the division of a plan into parts; "" if nothing is.
std::string fault_of_parts(const Plan& plan) {
    const auto& nodes = plan.nodes();
    for (std::size_t next = 0; next < nodes.size();) {
        const PlanPart part = plan.part_around(nodes[next].id);
        if (part.first != next || part.end <= next || part.end > nodes.size()) return "parts do not lie side by side";
        for (std::size_t i = part.first; i < part.end; ++i) {
            if (plan.part_around(nodes[i].id).first != part.first) return "two parts for " + tensor_name(nodes[i].id);
            if (nodes[i].id.stack != nodes[part.first].id.stack) return "a part of two stacks";
            if (nodes[i].id.layer >= 0 && nodes[i].id.layer != nodes[part.first].id.layer) return "a part of two layers";
            for (const StageId& input : nodes[i].inputs) {
                const auto place = static_cast<std::size_t>(plan.find(input) - nodes.data());
                const bool inside = place >= part.first, given = part.stream == input, other_stack = input.stack != nodes[i].id.stack;
                if (!inside && !given && !other_stack) return tensor_name(nodes[i].id) + " reads what its part is not given";
            }
        }
        next = part.end;
    }
    return "";
}

TEST(Plan, IsCutIntoPartsBetweenStatesOfTheStream) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        const RandomModel model(seed, true);
        const Plan plan(model.config, model.settings.mistake);
        EXPECT_EQ(fault_of_parts(plan), "") << seed;
        EXPECT_LE(plan.end_of_layers(), plan.nodes().size());
        EXPECT_THROW(plan.part_around({Stage::Q, 99}), Error);
    }
}

}  // namespace
}  // namespace attn
