/// Recorded attention as a trace: every number as recorded, the operations those of the graph, and arithmetic behind the cells.

#include "engine/recording/recorded_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "engine/explain/explain.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/tensor/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::recording {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Sizes {
    std::int64_t b = 2, h = 4, g = 2, t = 3, s = 3, d = 5;
};

/// Stages of an attention in plain loops, [B,H,·,·], by name.
using Stages = std::map<std::string, std::vector<float>>;

Stages plain_attention(const Sizes& z, std::uint32_t seed, float fill) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    Stages out;
    const auto fresh = [&](const char* name, std::int64_t count) {
        std::vector<float>& all = out[name];
        all.resize(static_cast<std::size_t>(count));
        for (float& each : all) each = normal(random);
    };
    fresh("q", z.b * z.h * z.t * z.d);
    fresh("k", z.b * z.g * z.s * z.d);
    fresh("v", z.b * z.g * z.s * z.d);
    for (const char* map : {"scores", "scaled", "masked", "weights"}) out[map].resize(static_cast<std::size_t>(z.b * z.h * z.t * z.s));
    out["context"].assign(static_cast<std::size_t>(z.b * z.h * z.t * z.d), 0);
    out["concat"].assign(out["context"].size(), 0);
    for (std::int64_t b = 0; b < z.b; ++b)
        for (std::int64_t h = 0; h < z.h; ++h)
            for (std::int64_t t = 0; t < z.t; ++t) {
                const std::int64_t row = ((b * z.h + h) * z.t + t) * z.s, shared = (b * z.g + h / (z.h / z.g)) * z.s;
                const auto at = [&](const char* name, std::int64_t i) -> float& { return out[name][static_cast<std::size_t>(i)]; };
                double sum = 0;
                float most = -std::numeric_limits<float>::infinity();
                for (std::int64_t s = 0; s < z.s; ++s) {
                    for (std::int64_t d = 0; d < z.d; ++d)
                        at("scores", row + s) += at("q", ((b * z.h + h) * z.t + t) * z.d + d) * at("k", (shared + s) * z.d + d);
                    at("scaled", row + s) = at("scores", row + s) / 2;
                    // The first sequence is causal; of the second one, the first query sees nothing.
                    const bool hidden = b == 0 ? s > t : t == 0;
                    at("masked", row + s) = hidden ? fill : at("scaled", row + s);
                    most = std::max(most, at("masked", row + s));
                }
                for (std::int64_t s = 0; s < z.s; ++s) sum += std::exp(static_cast<double>(at("masked", row + s) - most));
                for (std::int64_t s = 0; s < z.s; ++s) {
                    at("weights", row + s) = static_cast<float>(std::exp(static_cast<double>(at("masked", row + s) - most)) / sum);
                    for (std::int64_t d = 0; d < z.d; ++d)
                        at("context", ((b * z.h + h) * z.t + t) * z.d + d) += at("weights", row + s) * at("v", (shared + s) * z.d + d);
                }
                for (std::int64_t d = 0; d < z.d; ++d)
                    at("concat", (b * z.t + t) * z.h * z.d + h * z.d + d) = at("context", ((b * z.h + h) * z.t + t) * z.d + d);
            }
    return out;
}

std::string graph_of(const Sizes& z, const std::string& name, const std::string& kind = "self") {
    return R"({"name": ")" + name + R"(", "source": "my.py:3", "kind": ")" + kind + R"(", "repeat": )" + std::to_string(z.h / z.g) +
           R"(, "axes": {"B": )" + std::to_string(z.b) + R"(, "H": )" + std::to_string(z.h) + R"(, "G": )" + std::to_string(z.g) +
           R"(, "T": )" + std::to_string(z.t) + R"(, "S": )" + std::to_string(z.s) + R"(, "D": )" + std::to_string(z.d) + R"(}, "stages": [
  {"name": "q", "op": "linear", "axes": "BHTD", "line": "my.py:4"}, {"name": "k", "op": "given", "axes": "BGSD"},
  {"name": "v", "op": "given", "axes": "BGSD"},
  {"name": "scores", "op": "product", "inputs": ["q", "k"], "axes": "BHTS", "line": "my.py:5"},
  {"name": "scaled", "op": "scale", "inputs": ["scores"], "axes": "BHTS", "by": 0.5},
  {"name": "masked", "op": "mask", "inputs": ["scaled"], "axes": "BHTS", "how": "masked_fill"},
  {"name": "weights", "op": "softmax", "inputs": ["masked"], "axes": "BHTS", "over": "S"},
  {"name": "context", "op": "product", "inputs": ["weights", "v"], "axes": "BHTD"},
  {"name": "concat", "op": "concat", "inputs": ["context"], "axes": "BTC", "layout": [["B"], ["T"], ["H", "D"]]}]})";
}

class RecordedTraceTest : public testing::Test {
protected:
    std::filesystem::path path(const std::string& name) const { return folder_ / name; }
    void describe(const std::string& attentions, const std::string& more = "") const {
        std::ofstream(path("recording.json"), std::ios::binary)
            << R"({"format": "attnscope-recording/1", "run": 1)" << more << R"(, "graphs": [{"attentions": [)" << attentions << "]}]}";
    }
    void write(const std::map<std::string, std::pair<Sizes, Stages>>& attentions, const std::string& left_out = "") const {
        ArrayFile file;
        file.metadata = {{"format", "attnscope-recording/1"}, {"graph", "0"}};
        for (const auto& [name, made] : attentions) {
            const auto& [z, stages] = made;
            for (const auto& [stage, values] : stages) {
                if (stage == left_out) continue;
                const bool shared = stage == "k" || stage == "v", map = stage[0] == 's' || stage == "masked" || stage == "weights";
                const std::vector<std::int64_t> shape = stage == "concat" ? std::vector<std::int64_t>{z.b, z.t, z.h * z.d}
                                                        : map             ? std::vector<std::int64_t>{z.b, z.h, z.t, z.s}
                                                        : shared          ? std::vector<std::int64_t>{z.b, z.g, z.s, z.d}
                                                                          : std::vector<std::int64_t>{z.b, z.h, z.t, z.d};
                file.arrays.push_back(make_array<float>(name + "/" + stage, shape, values));
            }
        }
        write_safetensors(path("run1-step00000000-rank0.safetensors"), file);
    }
    Trace<float> trace(std::size_t group = 0, double most_mib = 100) const {
        const Recording recording = read_recording(folder_.path());
        const StepFile& file = step_file(recording, {});
        const RecordedStep step(file);
        const RecordedGraph& graph = recording.graphs.at(0);
        const std::vector<AttentionGroup> groups = groups_of(graph);
        const FindParameter parameter = parameters_as_of(recording, file);
        return trace_of({recording, graph, groups.at(group), step, parameter}, most_mib);
    }

    test::TemporaryFolder folder_;
};

bool is_same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void expect_equal(const Trace<float>& trace, const StageId& id, const std::vector<float>& expected) {
    const auto* stage = trace.find(id);
    ASSERT_NE(stage, nullptr) << tensor_name(id);
    ASSERT_EQ(stage->value.size(), static_cast<std::int64_t>(expected.size())) << tensor_name(id);
    for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_TRUE(is_same(stage->value.data()[i], expected[i])) << tensor_name(id) << " " << i << ": " << stage->value.data()[i];
    EXPECT_EQ(stage->value.shape(), trace.shape_of(id)) << tensor_name(id);
}

/// Every cell's arithmetic gives the recorded number.
void expect_arithmetic(const Trace<float>& trace) {
    for (const PlanNode& node : trace.plan->nodes()) {
        const Tensor<float>& value = trace.find(node.id)->value;
        const Shape& shape = value.shape();
        for (std::int64_t i = 0; i < value.size(); ++i) {
            CellRef cell{node.id, {}};
            for (std::int64_t rest = i, axis = shape.rank() - 1; axis >= 0; --axis) {
                cell.index[static_cast<std::size_t>(axis)] = rest % shape[static_cast<int>(axis)].size;
                rest /= shape[static_cast<int>(axis)].size;
            }
            const Provenance provenance = explain(trace, cell);
            const auto recorded = static_cast<double>(value.data()[i]);
            if (provenance.masked) continue;
            if (std::isnan(recorded)) ASSERT_TRUE(std::isnan(provenance.result)) << tensor_name(node.id) << " " << i;
            else ASSERT_NEAR(provenance.result, recorded, 1e-5 * (1 + std::abs(recorded))) << tensor_name(node.id) << " " << i;
        }
    }
}

TEST_F(RecordedTraceTest, HoldsEveryStageAsRecordedWithArithmeticBehindItsCells) {
    for (std::uint32_t seed = 0; seed < 12; ++seed) {
        std::mt19937 random(seed);
        const auto from = [&](std::int64_t least, std::int64_t most) { return std::uniform_int_distribution(least, most)(random); };
        Sizes z{.b = from(1, 2), .g = from(1, 3), .t = from(1, 5), .d = from(1, 4)};
        z.h = z.g * from(1, 2);
        z.s = z.t;
        const Stages a = plain_attention(z, seed, -std::numeric_limits<float>::max());
        const Stages b = plain_attention(z, seed + 100, -std::numeric_limits<float>::max());
        describe(graph_of(z, "x") + "," + graph_of(z, "y"));
        write({{"x", {z, a}}, {"y", {z, b}}});
        const Trace<float> trace = this->trace();
        EXPECT_TRUE(trace.whole());
        EXPECT_EQ(trace.config.num_layers, 2);
        for (const auto& [name, values] : a) expect_equal(trace, *stage_from_name(name, 0), values);
        for (const auto& [name, values] : b) expect_equal(trace, *stage_from_name(name, 1), values);
        expect_arithmetic(trace);
    }
}

TEST_F(RecordedTraceTest, KnowsTheOperationsAndTheLines) {
    const Sizes z;
    describe(graph_of(z, "x"));
    write({{"x", {z, plain_attention(z, 1, -std::numeric_limits<float>::infinity())}}});
    const Trace<float> trace = this->trace();
    std::vector<Op> ops;
    for (const PlanNode& node : trace.plan->nodes()) ops.push_back(node.op);
    EXPECT_THAT(ops, ElementsAre(Op::Given, Op::Given, Op::Given, Op::Scores, Op::Scale, Op::Mask, Op::Softmax, Op::Mix, Op::JoinHeads));
    EXPECT_EQ(trace.plan->at({Stage::Q, 0}).origin.text(), "linear, my.py:4");
    EXPECT_EQ(trace.plan->at({Stage::Scaled, 0}).settings.factor, 0.5);
}

TEST_F(RecordedTraceTest, CellsAreMaskedWhereTheirRowHasOthers) {
    const Sizes z;
    describe(graph_of(z, "x"));
    write({{"x", {z, plain_attention(z, 1, -1e9F)}}});
    const Trace<float> trace = this->trace();
    const Mask &mask = *trace.find({Stage::Masked, 0})->mask, &of_weights = *trace.find({Stage::Weights, 0})->mask;
    for (std::int64_t t = 0; t < z.t; ++t)
        for (std::int64_t s = 0; s < z.s; ++s) {
            EXPECT_EQ(mask.may_attend(0, 1, t, s), s <= t);
            EXPECT_EQ(of_weights.may_attend(0, 1, t, s), s <= t);
            EXPECT_EQ(mask.may_attend(1, 1, t, s), t > 0);
            EXPECT_TRUE(of_weights.may_attend(1, 1, t, s));  // hidden by a finite number, a whole row is uniform
        }
    EXPECT_FLOAT_EQ(trace.find({Stage::Weights, 0})->value(1, 0, 0, 0), 1.0F / static_cast<float>(z.s));
    EXPECT_EQ(trace.find({Stage::Scores, 0})->mask, nullptr);
}

TEST_F(RecordedTraceTest, AMaskThatAddsIsNoMaskOfOurs) {
    const Sizes z;
    Stages stages = plain_attention(z, 1, -1e9F);
    stages["masked"][0] += 0.25F;  // the query's own position, which nothing hides
    describe(graph_of(z, "x"));
    write({{"x", {z, stages}}});
    const Trace<float> trace = this->trace();
    EXPECT_EQ(trace.plan->at({Stage::Masked, 0}).op, Op::Given);
    expect_equal(trace, {Stage::Masked, 0}, stages["masked"]);
}

TEST_F(RecordedTraceTest, WhatFollowsIsComputed) {
    const Sizes z;
    const Stages stages = plain_attention(z, 3, -std::numeric_limits<float>::max());
    describe(graph_of(z, "x"));
    for (const char* missing : {"scores", "scaled", "context"}) {
        write({{"x", {z, stages}}}, missing);
        const Trace<float> trace = this->trace();
        const auto* stage = trace.find(*stage_from_name(missing, 0));
        ASSERT_NE(stage, nullptr) << missing;
        for (std::int64_t i = 0; i < stage->value.size(); ++i)
            ASSERT_NEAR(stage->value.data()[i], stages.at(missing)[static_cast<std::size_t>(i)], 1e-5) << missing << " " << i;
    }
    write({{"x", {z, stages}}}, "q");
    EXPECT_EQ(trace().find({Stage::Q, 0}), nullptr);
    EXPECT_EQ(trace().plan->at({Stage::Scores, 0}).op, Op::Given);
}

TEST_F(RecordedTraceTest, OtherSizesAreAnotherGroupWithKeysOfTheirOwn) {
    const Sizes z, crossing{.b = 2, .h = 4, .g = 4, .t = 3, .s = 6, .d = 5};
    describe(graph_of(z, "x") + "," + graph_of(crossing, "c", "cross") + "," + graph_of(z, "y"),
             R"(, "tokens": [["a", "b", "a"]], "source_tokens": [["u", "v", "w", "x", "y", "z"]])");
    const Stages of_cross = plain_attention(crossing, 5, -std::numeric_limits<float>::infinity());
    write({{"x", {z, plain_attention(z, 1, -1e9F)}}, {"c", {crossing, of_cross}}, {"y", {z, plain_attention(z, 2, -1e9F)}}});
    const Recording recording = read_recording(folder_.path());
    const std::vector<AttentionGroup> groups = groups_of(recording.graphs.at(0));
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_THAT(groups[0].members, ElementsAre(0U, 2U));
    EXPECT_THAT(groups[1].members, ElementsAre(1U));
    EXPECT_TRUE(groups[1].own_keys);
    EXPECT_THAT(words_of(recording, groups[0]).queries[1], ElementsAre("a", "b", "a"));
    EXPECT_THAT(words_of(recording, groups[0]).all, ElementsAre("a", "b"));
    EXPECT_THAT(words_of(recording, groups[1]).keys[0], ElementsAre("u", "v", "w", "x", "y", "z"));
    const Trace<float> trace = this->trace(1);
    EXPECT_THAT(trace.tokens.ids, ElementsAre(0, 1, 0, 0, 1, 0));
    for (const auto& [name, values] : of_cross)
        expect_equal(trace, {stage_from_name(name)->stage, 0, Stack::Decoder, kCrossAttention}, values);
    expect_arithmetic(trace);
}

constexpr std::string_view kSoftmaxAndMore =
    R"({"name": "x", "axes": {"B": 1, "H": 1, "T": 2, "S": 2, "D": 3}, "stages": [
  {"name": "scores", "op": "given", "axes": "BHTS"},
  {"name": "softmax", "op": "softmax", "inputs": ["scores"], "axes": "BHTS", "over": "S"},
  {"name": "sparse", "op": "given", "called": "topk", "inputs": ["softmax"], "axes": "BHTS", "line": "my.py:8"},
  {"name": "weights", "op": "given", "inputs": ["sparse"], "axes": "BHTS"},
  {"name": "sharper", "op": "scale", "by": 2, "inputs": ["weights"], "axes": "BHTS"}]})";

TEST_F(RecordedTraceTest, WhatASoftmaxGivesAndWhatHasNoRoleKeepTheirNames) {
    describe(std::string(kSoftmaxAndMore));
    ArrayFile file;
    file.metadata = {{"graph", "0"}};
    const std::vector<float> even(4, 0.5F), sparse{1, 0, 0, 1};
    for (const auto& [name, values] :
         {std::pair("x/scores", std::vector<float>(4, 0)), std::pair("x/softmax", even), std::pair("x/sparse", sparse),
          std::pair("x/weights", sparse), std::pair("x/sharper", std::vector<float>{2, 0, 0, 2})})
        file.arrays.push_back(make_array<float>(name, {1, 1, 2, 2}, values));
    write_safetensors(path("run1-step00000000-rank0.safetensors"), file);
    const Trace<float> trace = this->trace();
    std::vector<std::string> names;
    for (const PlanNode& node : trace.plan->nodes()) names.push_back(trace.plan->name_of(node.id));
    EXPECT_THAT(names, ElementsAre("scores", "softmax", "sparse", "weights", "sharper"));
    expect_equal(trace, {Stage::Softmax, 0}, even);
    expect_equal(trace, {Stage::Other, 0}, sparse);
    EXPECT_EQ(trace.plan->at({Stage::Softmax, 0}).op, Op::Softmax);
    EXPECT_EQ(trace.plan->at({Stage::Other, 0}).op, Op::Given);
    EXPECT_EQ(trace.plan->at({Stage::Other, 0}).origin.text(), "topk, my.py:8");
    EXPECT_EQ(trace.plan->at({.stage = Stage::Other, .layer = 0, .nth = 1}).op, Op::Scale);
    EXPECT_EQ(tensor_name({Stage::Softmax, 0}), "layers.0.attention.softmax");
    expect_arithmetic(trace);
}

/// Arrays of which nothing is known but their names, and those of a recording that belong to no attention.
TEST_F(RecordedTraceTest, EverythingElseIsDrawnAsMatrices) {
    ArrayFile file;
    std::vector<float> numbers(48);
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    const auto add = [&](const char* name, std::vector<std::int64_t> shape) {
        std::size_t count = 1;
        for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
        file.arrays.push_back(
            make_array<float>(name, std::move(shape), {numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count)}));
    };
    add("line", {5});
    add("x", {3, 4});
    add("y.map", {3, 4});
    add("stack", {2, 3, 4});
    add("four", {2, 2, 3, 4});
    add("five", {2, 1, 2, 3, 4});
    add("parameters/w", {3, 4});
    add("single", {});
    add("none", {0, 3});
    file.arrays.push_back(make_array<std::int64_t>("ids", {3, 4}, std::vector<std::int64_t>(12, 7)));
    const std::filesystem::path single = path("arrays.safetensors");
    write_safetensors(single, file);
    const Recording recording = read_recording(single);
    const RecordedStep step(recording.steps.front());
    const std::vector<AttentionGroup> groups = groups_of(recording.graphs.at(0), step);
    std::map<std::string, std::vector<std::string>> by_size;
    for (const AttentionGroup& group : groups)
        by_size[std::to_string(group.sequences) + "," + std::to_string(group.heads) + "," + std::to_string(group.queries) + "," +
                std::to_string(group.keys)] = group.matrices;
    EXPECT_THAT(by_size["1,1,1,5"], ElementsAre("line"));
    EXPECT_THAT(by_size["1,1,3,4"], testing::UnorderedElementsAre("x", "y.map", "ids"));
    EXPECT_THAT(by_size["1,2,3,4"], ElementsAre("stack"));
    EXPECT_THAT(by_size["2,2,3,4"], testing::UnorderedElementsAre("four", "five"));
    EXPECT_EQ(by_size.size(), 4U);
    for (const AttentionGroup& group : groups) {
        const Trace<float> trace = trace_of({recording, recording.graphs.at(0), group, step, {}}, 100);
        ASSERT_EQ(trace.stages.size(), group.matrices.size());
        for (std::size_t i = 0; i < group.matrices.size(); ++i) {
            const StageId id = place_of_matrix(group, i);
            EXPECT_EQ(trace.plan->name_of(id), group.matrices[i]);
            EXPECT_EQ(trace.plan->at(id).op, Op::Given);
            EXPECT_EQ(trace.find(id)->value.shape(), trace.shape_of(id));
            const float last = trace.find(id)->value.data()[trace.find(id)->value.size() - 1];
            EXPECT_EQ(last, group.matrices[i] == "ids" ? 7 : static_cast<float>(trace.find(id)->value.size() - 1)) << group.matrices[i];
        }
    }
}

TEST_F(RecordedTraceTest, RefusesWhatTheMemoryDoesNotHold) {
    const Sizes z;
    describe(graph_of(z, "x"));
    write({{"x", {z, plain_attention(z, 1, -1e9F)}}});
    try {
        trace(0, 1e-4);
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("memory"));
    }
}

TEST_F(RecordedTraceTest, PositionsWithoutWordsAreNumbers) {
    const Sizes z;
    describe(graph_of(z, "x"), R"(, "tokens": [["too", "few"]])");
    write({{"x", {z, plain_attention(z, 1, -1e9F)}}});
    const Recording recording = read_recording(folder_.path());
    EXPECT_THAT(words_of(recording, groups_of(recording.graphs.at(0)).at(0)).queries[0], ElementsAre("0", "1", "2"));
}

}  // namespace
}  // namespace attn::recording
