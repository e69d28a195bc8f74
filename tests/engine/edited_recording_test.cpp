/// Recordings with numbers changed by hand: what follows is that of plain loops, the rest keeps its bits, and what cannot be known is gone.

#include "engine/recording/edited_trace.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "engine/explain/edit_list.hpp"
#include "engine/explain/explain.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/recording/stage_order.hpp"
#include "engine/trace/edit_marks.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::recording {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr std::int64_t kTexts = 2, kQueryHeads = 4, kSharedHeads = 2, kPlaces = 4, kWidth = 3;
constexpr float kFactor = 0.5F;

/// The stages of a causal attention, [B,H,·,·], by name.
using Maps = std::map<std::string, std::vector<float>>;
/// Called when a stage is computed, before the next one reads it.
using Change = std::function<void(const std::string& stage, std::vector<float>& numbers)>;

std::size_t cell_at(std::int64_t b, std::int64_t h, std::int64_t heads, std::int64_t row, std::int64_t col, std::int64_t cols) {
    return static_cast<std::size_t>(((b * heads + h) * kPlaces + row) * cols + col);
}

/// In double precision, each stage rounded to single.
Maps causal_attention(Maps given, const Change& change) {
    Maps out;
    const auto take = [&](const char* name, std::vector<float> numbers) -> const std::vector<float>& {
        change(name, numbers);
        return out[name] = std::move(numbers);
    };
    const auto &q = take("q", given.at("q")), &k = take("k", given.at("k")), &v = take("v", given.at("v"));
    const std::size_t map = kTexts * kQueryHeads * kPlaces * kPlaces;
    const auto for_rows = [](const auto& row) {
        for (std::int64_t b = 0; b < kTexts; ++b)
            for (std::int64_t h = 0; h < kQueryHeads; ++h)
                for (std::int64_t t = 0; t < kPlaces; ++t) row(b, h, h / 2, t);
    };
    std::vector<float> numbers(map);
    for_rows([&](auto b, auto h, auto g, auto t) {
        for (std::int64_t s = 0; s < kPlaces; ++s) {
            double sum = 0;
            for (std::int64_t d = 0; d < kWidth; ++d)
                sum += static_cast<double>(q[cell_at(b, h, kQueryHeads, t, d, kWidth)]) *
                       static_cast<double>(k[cell_at(b, g, kSharedHeads, s, d, kWidth)]);
            numbers[cell_at(b, h, kQueryHeads, t, s, kPlaces)] = static_cast<float>(sum);
        }
    });
    const auto& scores = take("scores", numbers);
    for (std::size_t i = 0; i < map; ++i) numbers[i] = kFactor * scores[i];
    const auto& scaled = take("scaled", numbers);
    for_rows([&](auto b, auto h, auto, auto t) {
        for (std::int64_t s = 0; s < kPlaces; ++s) {
            const std::size_t at = cell_at(b, h, kQueryHeads, t, s, kPlaces);
            numbers[at] = s > t ? -std::numeric_limits<float>::infinity() : scaled[at];
        }
    });
    const auto& masked = take("masked", numbers);
    for_rows([&](auto b, auto h, auto, auto t) {
        const std::size_t row = cell_at(b, h, kQueryHeads, t, 0, kPlaces);
        double sum = 0;
        for (std::size_t s = 0; s < kPlaces; ++s) sum += std::exp(static_cast<double>(masked[row + s]));
        for (std::size_t s = 0; s < kPlaces; ++s)
            numbers[row + s] = static_cast<float>(std::exp(static_cast<double>(masked[row + s])) / sum);
    });
    const auto& weights = take("weights", numbers);
    std::vector<float> mixed(kTexts * kQueryHeads * kPlaces * kWidth), side_by_side(mixed.size());
    for_rows([&](auto b, auto h, auto g, auto t) {
        for (std::int64_t d = 0; d < kWidth; ++d) {
            double sum = 0;
            for (std::int64_t s = 0; s < kPlaces; ++s)
                sum += static_cast<double>(weights[cell_at(b, h, kQueryHeads, t, s, kPlaces)]) *
                       static_cast<double>(v[cell_at(b, g, kSharedHeads, s, d, kWidth)]);
            mixed[cell_at(b, h, kQueryHeads, t, d, kWidth)] = static_cast<float>(sum);
        }
    });
    const auto& context = take("context", mixed);
    for_rows([&](auto b, auto h, auto, auto t) {
        for (std::int64_t d = 0; d < kWidth; ++d)
            side_by_side[static_cast<std::size_t>(((b * kPlaces + t) * kQueryHeads + h) * kWidth + d)] =
                context[cell_at(b, h, kQueryHeads, t, d, kWidth)];
    });
    take("concat", side_by_side);
    return out;
}

Maps random_operands(std::uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    Maps out;
    for (const auto& [name, heads] : {std::pair("q", kQueryHeads), std::pair("k", kSharedHeads), std::pair("v", kSharedHeads)}) {
        out[name].resize(static_cast<std::size_t>(kTexts * heads * kPlaces * kWidth));
        for (float& each : out[name]) each = normal(random);
    }
    return out;
}

/// What another order of additions could have given, too: it follows, but a computation in double precision gives other bits.
void shift_last_bits(const std::string& stage, std::vector<float>& numbers) {
    if (stage != "scores" && stage != "weights" && stage != "context") return;
    for (std::size_t i = 0; i < numbers.size(); ++i)
        if (numbers[i] != 0) numbers[i] = std::nextafter(numbers[i], i % 2 == 0 ? 100.0F : -100.0F);
}

constexpr std::string_view kSizes = R"("axes": {"B": 2, "H": 4, "G": 2, "T": 4, "S": 4, "D": 3}, "repeat": 2)";
constexpr std::string_view kUsualStages = R"({"name": "q", "op": "given", "axes": "BHTD"}, {"name": "k", "op": "given", "axes": "BGSD"},
  {"name": "v", "op": "given", "axes": "BGSD"},
  {"name": "scores", "op": "product", "inputs": ["q", "k"], "axes": "BHTS"},
  {"name": "scaled", "op": "scale", "inputs": ["scores"], "axes": "BHTS", "by": 0.5},
  {"name": "masked", "op": "mask", "inputs": ["scaled"], "axes": "BHTS", "causal": true, "fill": "-inf"},
  {"name": "weights", "op": "softmax", "inputs": ["masked"], "axes": "BHTS", "over": "S"},
  {"name": "context", "op": "product", "inputs": ["weights", "v"], "axes": "BHTD"},
  {"name": "concat", "op": "concat", "inputs": ["context"], "axes": "BTC", "layout": [["B"], ["T"], ["H", "D"]]})";

class EditedRecording : public testing::Test {
protected:
    EditedRecording() { file_.metadata = {{"format", "attnscope-recording/1"}, {"graph", "0"}}; }

    void describe(const std::string& attentions, const std::string& around = "") const {
        std::ofstream(folder_ / "recording.json", std::ios::binary)
            << R"({"format": "attnscope-recording/1", "run": 1, "graphs": [{"attentions": [)" << attentions << R"(], "around": [)" << around
            << "]}]}";
    }
    static std::string attention(const std::string& name, const std::string& stages, std::string_view sizes = kSizes) {
        return fmt::format(R"({{"name": "{}", {}, "stages": [{}]}})", name, sizes, stages);
    }
    void add(const std::string& name, std::vector<std::int64_t> shape, const std::vector<float>& numbers) {
        file_.arrays.push_back(make_array<float>(name, std::move(shape), numbers));
    }
    void add_stages(const std::string& name, const Maps& stages) {
        for (const auto& [stage, numbers] : stages) {
            const bool shared = stage == "k" || stage == "v", map = stage[0] == 's' || stage == "masked" || stage == "weights";
            add(name + "/" + stage,
                stage == "concat" ? std::vector<std::int64_t>{kTexts, kPlaces, kQueryHeads * kWidth}
                : map             ? std::vector<std::int64_t>{kTexts, kQueryHeads, kPlaces, kPlaces}
                                  : std::vector<std::int64_t>{kTexts, shared ? kSharedHeads : kQueryHeads, kPlaces, kWidth},
                numbers);
        }
    }
    /// With the edits.
    Trace<float> trace(const std::vector<Edit>& edits, std::size_t group = 0) {
        write_safetensors(folder_ / "run1-step00000000-rank0.safetensors", file_);
        const Recording recording = read_recording(folder_.path());
        const StepFile& file = step_file(recording, {});
        const RecordedStep step(file);
        const RecordedGraph& graph = recording.graphs.at(0);
        const std::vector<AttentionGroup> groups = groups_of(graph, step);
        const FindParameter parameter = parameters_as_of(recording, file);
        const RecordedGroup recorded{recording, graph, groups.at(group), step, parameter};
        return with_edits(trace_of(recorded, 100), recorded, edits);
    }
    static Edit set(const StageId& at, std::int64_t sequence, std::int64_t head, std::int64_t row, std::int64_t column, double value) {
        Edit edit{.kind = EditKind::Set, .at = at};
        edit.sequence = sequence, edit.head = head, edit.row = row, edit.column = column, edit.value = value;
        return edit;
    }
    static std::string why_lost(const Trace<float>& trace, const StageId& id) {
        for (const LostStage& lost : trace.lost)
            if (lost.id == id) return lost.why;
        return "";
    }
    static std::vector<float> numbers_in(const Trace<float>& trace, const StageId& id) {
        const auto* stage = trace.find(id);
        if (stage == nullptr) return {};
        return {stage->value.data(), stage->value.data() + stage->value.size()};
    }

    test::TemporaryFolder folder_;
    ArrayFile file_;
};

bool has_bits_of(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// An edit of any stage, against plain loops that start from the edited numbers.
TEST_F(EditedRecording, EveryStageAfterAnEditIsThatOfPlainLoops) {
    describe(attention("a", std::string(kUsualStages)));
    const std::vector<std::string> order{"q", "k", "v", "scores", "scaled", "masked", "weights", "context", "concat"};
    for (std::uint32_t seed = 0; seed < 27; ++seed) {
        const Maps operands = random_operands(seed), recorded = causal_attention(operands, shift_last_bits);
        const std::string& stage = order[seed % order.size()];
        const bool is_joined = stage == "concat", shared = stage == "k" || stage == "v";
        const std::int64_t heads = shared ? kSharedHeads : kQueryHeads, head = seed % heads, row = 1 + seed % 3, col = seed % 2;
        const bool is_map = !shared && stage != "q" && stage != "context";
        const std::size_t at = is_joined ? static_cast<std::size_t>((kPlaces + row) * kQueryHeads * kWidth + col)
                                         : cell_at(1, head, heads, row, col, is_map ? kPlaces : kWidth);
        const float value = 0.25F + 0.5F * static_cast<float>(seed);
        bool reached = false;
        const Maps expected = causal_attention(operands, [&](const std::string& name, std::vector<float>& numbers) {
            // Up to the edit it is what was recorded; from there on it is computed.
            if (!reached) numbers = recorded.at(name);
            if (name != stage) return;
            numbers[at] = value;
            reached = true;
        });
        file_.arrays.clear();
        add_stages("a", recorded);
        const Trace<float> edited = trace({set(*stage_from_name(stage, 0), 1, head, row, col, static_cast<double>(value))});
        EXPECT_TRUE(edited.lost.empty()) << stage;
        EXPECT_TRUE(edited.whole());
        std::size_t changed = 0;
        for (const std::string& each : order) {
            const std::vector<float> numbers = numbers_in(edited, *stage_from_name(each, 0));
            ASSERT_EQ(numbers.size(), expected.at(each).size()) << each;
            for (std::size_t i = 0; i < numbers.size(); ++i) {
                if (has_bits_of(numbers[i], recorded.at(each)[i])) {
                    // What the edit does not reach keeps the recorded bits, which are not those of the loops.
                    const bool is_hidden = std::isinf(numbers[i]);
                    ASSERT_TRUE(is_hidden || std::abs(numbers[i] - expected.at(each)[i]) <= 3e-6F * (1 + std::abs(numbers[i])));
                    continue;
                }
                ++changed;
                ASSERT_TRUE(has_bits_of(numbers[i], expected.at(each)[i]) ||
                            std::abs(numbers[i] - expected.at(each)[i]) <= 1e-6F * (1 + std::abs(expected.at(each)[i])))
                    << "edit of " << stage << ", " << each << " " << i << ": " << numbers[i] << ", not " << expected.at(each)[i];
            }
        }
        EXPECT_GE(changed, is_joined ? 1U : 2U) << stage;
    }
}

/// The other sequence, and heads that do not share what was edited.
TEST_F(EditedRecording, OtherHeadsAndSequencesKeepTheirBits) {
    describe(attention("a", std::string(kUsualStages)));
    const Maps recorded = causal_attention(random_operands(3), shift_last_bits);
    add_stages("a", recorded);
    const Trace<float> edited = trace({set({Stage::K, 0}, 1, 1, 0, 2, 5)});
    for (const auto& [name, numbers] : recorded) {
        const std::vector<float> now = numbers_in(edited, *stage_from_name(name, 0));
        const bool is_before = name == "q" || name == "v";
        bool any = false;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const std::size_t heads = name == "k" || name == "v" ? kSharedHeads : kQueryHeads, size = numbers.size() / kTexts / heads;
            const bool joined = name == "concat";
            const std::size_t head = joined ? i / kWidth % kQueryHeads : i / size % heads, sequence = i / size / heads;
            const bool may_change = !is_before && sequence == 1 && head >= heads / 2;
            const bool same = has_bits_of(now[i], numbers[i]);
            any = any || !same;
            ASSERT_TRUE(may_change || same) << name << " " << i;
        }
        EXPECT_EQ(any, !is_before) << name;
    }
}

TEST_F(EditedRecording, WithoutEditsInForceNothingChanges) {
    describe(attention("a", std::string(kUsualStages)));
    const Maps recorded = causal_attention(random_operands(3), shift_last_bits);
    add_stages("a", recorded);
    Edit off = set({Stage::K, 0}, 1, 1, 0, 2, 5);
    off.on = false;
    for (const auto& [name, numbers] : recorded) {
        EXPECT_EQ(numbers_in(trace({off}), *stage_from_name(name, 0)), numbers) << name;
        EXPECT_EQ(trace({off}).find(*stage_from_name(name, 0))->edited, nullptr);
    }
}

/// The mark of the edit, the arithmetic behind the cells, and edits that do nothing.
TEST_F(EditedRecording, IsExplainedLikeAnEditOfAModel) {
    describe(attention("a", std::string(kUsualStages)));
    add_stages("a", causal_attention(random_operands(4), shift_last_bits));
    const Trace<float> edited = trace({set({Stage::Scores, 0}, 0, 2, 1, 0, 3), set({Stage::Scores, 0}, 0, 2, 1, 3, 9),
                                       set({Stage::Weights, 0}, 0, 2, 1, 3, 9), set({Stage::Norm1, 0}, 0, 0, 0, 0, 9)});
    const auto& marks = *edited.find({Stage::Scores, 0})->edited;
    EXPECT_EQ(marks.by[cell_at(0, 2, kQueryHeads, 1, 0, kPlaces)], 1U);
    EXPECT_EQ(marks.by[cell_at(0, 2, kQueryHeads, 1, 1, kPlaces)], 0U);
    const Provenance of_edit = explain(edited, {{Stage::Scores, 0}, "", {0, 2, 1, 0}});
    EXPECT_TRUE(of_edit.edited);
    EXPECT_EQ(of_edit.result, 3);
    const Provenance after = explain(edited, {{Stage::Scaled, 0}, "", {0, 2, 1, 0}});
    EXPECT_EQ(after.result, 1.5);
    EXPECT_EQ(after.recorded, 1.5);
    EXPECT_EQ(edited.plan->at({Stage::Masked, 0}).op, Op::Mask);
    const std::vector<std::string> why = edits_in_vain(edited);
    EXPECT_EQ(why.at(0), "");
    EXPECT_THAT(why.at(1), HasSubstr("masked"));
    EXPECT_THAT(why.at(2), HasSubstr("masked"));
    EXPECT_THAT(why.at(3), HasSubstr("no such stage"));
}

constexpr std::string_view kSparse = R"({"name": "scores", "op": "given", "axes": "BHTS"},
  {"name": "softmax", "op": "softmax", "inputs": ["scores"], "axes": "BHTS", "over": "S"},
  {"name": "sparse", "op": "given", "called": "topk", "inputs": ["softmax"], "axes": "BHTS"},
  {"name": "weights", "op": "scale", "by": 2, "inputs": ["sparse"], "axes": "BHTS"})";
constexpr std::string_view kSmall = R"("axes": {"B": 1, "H": 1, "T": 2, "S": 2, "D": 1})";

/// An operation that we do not have, upstream of the rest.
TEST_F(EditedRecording, WhatFollowsAnUnknownOperationIsNotShown) {
    describe(attention("x", std::string(kSparse), kSmall));
    add("x/scores", {1, 1, 2, 2}, {0, 0, 0, 0});
    add("x/softmax", {1, 1, 2, 2}, {0.5F, 0.5F, 0.5F, 0.5F});
    add("x/sparse", {1, 1, 2, 2}, {0.5F, 0, 0, 0.5F});
    add("x/weights", {1, 1, 2, 2}, {1, 0, 0, 1});
    const Trace<float> edited = trace({set({Stage::Scores, 0}, 0, 0, 0, 0, std::log(3))});
    EXPECT_NEAR(numbers_in(edited, {Stage::Softmax, 0}).at(0), 0.75, 1e-7);
    EXPECT_EQ(numbers_in(edited, {Stage::Softmax, 0}).at(2), 0.5F);
    for (const StageId& id : {StageId{Stage::Other, 0}, StageId{Stage::Weights, 0}}) {
        EXPECT_EQ(edited.find(id), nullptr);
        EXPECT_EQ(edited.plan->find(id), nullptr);
    }
    EXPECT_TRUE(edited.whole());
    EXPECT_THAT(why_lost(edited, {Stage::Other, 0}), HasSubstr("no arithmetic for topk"));
    EXPECT_THAT(why_lost(edited, {Stage::Weights, 0}), HasSubstr("follows from x/sparse"));
    EXPECT_THAT(why_lost(edited, {Stage::Weights, 0}), HasSubstr("no arithmetic for topk"));
    const Trace<float> behind = trace({set({Stage::Weights, 0}, 0, 0, 0, 0, 7)});
    EXPECT_TRUE(behind.lost.empty());
    EXPECT_EQ(numbers_in(behind, {Stage::Other, 0}), (std::vector<float>{0.5F, 0, 0, 0.5F}));
    const Trace<float> both = trace({set({Stage::Scores, 0}, 0, 0, 0, 0, 1), set({Stage::Weights, 0}, 0, 0, 0, 0, 7)});
    EXPECT_EQ(both.find({Stage::Weights, 0}), nullptr) << "the other numbers are not known";
    EXPECT_THAT(edits_in_vain(both).at(1), HasSubstr("not known"));
}

/// Then the code did something else than the graph says.
TEST_F(EditedRecording, WhatDidNotFollowBeforeIsNotComputed) {
    describe(attention("a", std::string(kUsualStages)));
    Maps recorded = causal_attention(random_operands(5), shift_last_bits);
    recorded["scaled"][0] += 0.01F;
    add_stages("a", recorded);
    const Trace<float> edited = trace({set({Stage::Q, 0}, 1, 3, 3, 0, 2)});
    EXPECT_NE(edited.find({Stage::Scores, 0}), nullptr);
    EXPECT_THAT(why_lost(edited, {Stage::Scaled, 0}), HasSubstr("does not follow"));
    EXPECT_EQ(edited.lost.size(), 5U) << "scaled, masked, weights, context, concat";
}

constexpr std::string_view kWithOutput = R"(,
  {"name": "attention_out", "op": "linear", "inputs": ["concat"], "axes": "BTC", "parameters": ["out.weight", "out.bias"]})";

TEST_F(EditedRecording, LinearMapsNeedTheirParameters) {
    describe(attention("a", std::string(kUsualStages) + std::string(kWithOutput)));
    const Maps recorded = causal_attention(random_operands(6), shift_last_bits);
    constexpr std::int64_t kChannels = kQueryHeads * kWidth;
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::vector<float> weight(kChannels * kChannels), bias(kChannels);
    for (float& each : weight) each = normal(random);
    for (float& each : bias) each = normal(random);
    const auto mapped_by_hand = [&](const std::vector<float>& x) {
        std::vector<float> out(x.size());
        for (std::size_t row = 0; row < x.size() / kChannels; ++row)
            for (std::size_t to = 0; to < kChannels; ++to) {
                double sum = static_cast<double>(bias[to]);
                for (std::size_t from = 0; from < kChannels; ++from)
                    sum += static_cast<double>(weight[to * kChannels + from]) * static_cast<double>(x[row * kChannels + from]);
                out[row * kChannels + to] = static_cast<float>(sum);
            }
        return out;
    };
    add_stages("a", recorded);
    add("a/attention_out", {kTexts, kPlaces, kChannels}, mapped_by_hand(recorded.at("concat")));
    const Edit edit = set({Stage::Weights, 0}, 0, 1, 2, 1, 4);
    const Trace<float> without = trace({edit});
    EXPECT_EQ(without.find({Stage::AttentionOut, 0}), nullptr);
    EXPECT_THAT(why_lost(without, {Stage::AttentionOut, 0}), HasSubstr("parameters were not recorded"));
    add("parameters/out.weight", {kChannels, kChannels}, weight);
    add("parameters/out.bias", {kChannels}, bias);
    const Trace<float> edited = trace({edit});
    const std::vector<float> expected = mapped_by_hand(numbers_in(edited, {Stage::Concat, 0}));
    const std::vector<float> now = numbers_in(edited, {Stage::AttentionOut, 0});
    ASSERT_EQ(now.size(), expected.size());
    for (std::size_t i = 0; i < now.size(); ++i) EXPECT_NEAR(now[i], expected[i], 1e-6F * (1 + std::abs(expected[i]))) << i;
    EXPECT_GT(std::abs(now[2 * kChannels] - mapped_by_hand(recorded.at("concat"))[2 * kChannels]), 1e-3F);
}

/// Through the graph between attentions; what is computed from something unnamed may depend on the edit, what came from outside does not.
TEST_F(EditedRecording, OtherAttentionsAreReachedThroughTheGraph) {
    const auto reading = [](const std::string& from) {
        std::string stages(kUsualStages);
        stages.replace(0, std::string_view(R"({"name": "q", "op": "given")").size(),
                       fmt::format(R"({{"name": "q", "op": "linear", "inputs": ["{}"], "parameters": ["w"])", from));
        return stages;
    };
    describe(attention("first", reading("outside")) + "," + attention("edited", std::string(kUsualStages)) + "," +
                 attention("linked", reading("between")) + "," + attention("unnamed", reading("of_something")) + "," +
                 attention("apart", reading("outside")),
             R"({"name": "outside", "op": "given", "called": "given", "inputs": [], "axes": "BTC"},
                {"name": "between", "op": "given", "called": "sin", "inputs": ["edited/concat"], "axes": "BTC"},
                {"name": "of_something", "op": "given", "called": "sin", "inputs": [], "axes": "BTC"})");
    const Maps recorded = causal_attention(random_operands(8), shift_last_bits);
    for (const char* name : {"first", "edited", "linked", "unnamed", "apart"}) add_stages(name, recorded);
    const Trace<float> edited = trace({set({Stage::Scores, 1}, 0, 0, 3, 0, 4)});
    const auto is_as_recorded = [&](const char* stage, int layer) {
        return numbers_in(edited, *stage_from_name(stage, layer)) == recorded.at(stage);
    };
    for (const char* stage : {"q", "scores", "weights", "concat"}) {
        EXPECT_TRUE(is_as_recorded(stage, 0)) << stage;
        EXPECT_EQ(is_as_recorded(stage, 1), std::string(stage) == "q") << stage;
        EXPECT_NE(why_lost(edited, *stage_from_name(stage, 2)), "") << stage;
        EXPECT_EQ(edited.find(*stage_from_name(stage, 2)), nullptr) << stage;
        EXPECT_EQ(edited.find(*stage_from_name(stage, 3)), nullptr) << stage;
        EXPECT_TRUE(is_as_recorded(stage, 4)) << stage;
    }
    EXPECT_TRUE(is_as_recorded("k", 2)) << "it came from outside";
    EXPECT_THAT(why_lost(edited, {Stage::Q, 2}), HasSubstr("between"));
}

/// The next attention reads what a residual, a norm and a feed-forward network make of the edited one.
TEST_F(EditedRecording, AWholeLayerIsComputedAgain) {
    constexpr std::size_t kChannels = kQueryHeads * kWidth, kRows = kTexts * kPlaces;
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    const auto fresh = [&](std::size_t count) {
        std::vector<float> numbers(count);
        for (float& each : numbers) each = normal(random);
        return numbers;
    };
    const std::vector<float> outside = fresh(kRows * kChannels), gain = fresh(kChannels), shift = fresh(kChannels);
    const std::vector<float> w = fresh(kChannels * kChannels), w_q = fresh(kChannels * kChannels);
    const auto product = [&](const std::vector<float>& x, const std::vector<float>& matrix) {
        std::vector<float> out(x.size());
        for (std::size_t row = 0; row < kRows; ++row)
            for (std::size_t to = 0; to < kChannels; ++to) {
                double sum = 0;
                for (std::size_t from = 0; from < kChannels; ++from)
                    sum += static_cast<double>(matrix[to * kChannels + from]) * static_cast<double>(x[row * kChannels + from]);
                out[row * kChannels + to] = static_cast<float>(sum);
            }
        return out;
    };
    struct Layer {
        std::vector<float> residual, norm, hidden, bent, q;
    };
    const auto layer_on = [&](const std::vector<float>& attended, bool has_mean) {
        Layer out{attended, outside, {}, {}, {}};
        for (std::size_t i = 0; i < attended.size(); ++i) out.residual[i] += outside[i];
        for (std::size_t row = 0; row < kRows; ++row) {
            const auto at = [&](std::size_t c) { return static_cast<double>(out.residual[row * kChannels + c]); };
            double mean = 0, squares = 0;
            for (std::size_t c = 0; has_mean && c < kChannels; ++c) mean += at(c) / kChannels;
            for (std::size_t c = 0; c < kChannels; ++c) squares += (at(c) - mean) * (at(c) - mean) / kChannels;
            for (std::size_t c = 0; c < kChannels; ++c)
                out.norm[row * kChannels + c] =
                    static_cast<float>((at(c) - mean) / std::sqrt(squares + 1e-6) * static_cast<double>(gain[c]) +
                                       (has_mean ? static_cast<double>(shift[c]) : 0));
        }
        out.hidden = product(out.norm, w);
        for (const float x : out.hidden)
            out.bent.push_back(static_cast<float>(static_cast<double>(x) / (1 + std::exp(-static_cast<double>(x)))));
        const std::vector<float> q = product(out.bent, w_q);
        out.q.resize(q.size());
        for (std::size_t b = 0; b < kTexts; ++b)
            for (std::size_t t = 0; t < kPlaces; ++t)
                for (std::size_t h = 0; h < kQueryHeads; ++h)
                    for (std::size_t d = 0; d < kWidth; ++d)
                        out.q[((b * kQueryHeads + h) * kPlaces + t) * kWidth + d] = q[(b * kPlaces + t) * kChannels + h * kWidth + d];
        return out;
    };
    for (const bool has_mean : {true, false}) {
        std::string second(kUsualStages);
        second.replace(0, std::string_view(R"({"name": "q", "op": "given")").size(),
                       R"({"name": "q", "op": "linear", "inputs": ["bent"], "parameters": ["w_q"])");
        describe(attention("a", std::string(kUsualStages)) + "," + attention("b", second),
                 fmt::format(R"({{"name": "outside", "op": "given", "inputs": [], "axes": "BTC"}},
            {{"name": "residual", "op": "add", "inputs": ["outside", "a/concat"], "axes": "BTC"}},
            {{"name": "norm", "op": "norm", "inputs": ["residual"], "parameters": [{}], "axes": "BTC"}},
            {{"name": "hidden", "op": "linear", "inputs": ["norm"], "parameters": ["w"], "axes": "BTC"}},
            {{"name": "bent", "op": "activation", "called": "silu", "inputs": ["hidden"], "axes": "BTC"}})",
                             has_mean ? R"("gain", "shift")" : R"("gain")"));
        const Maps recorded = causal_attention(random_operands(12), shift_last_bits);
        const Layer between = layer_on(recorded.at("concat"), has_mean);
        Maps operands = random_operands(13);
        operands["q"] = between.q;
        const Maps of_second = causal_attention(operands, shift_last_bits);
        file_.arrays.clear();
        add_stages("a", recorded);
        add_stages("b", of_second);
        const std::vector<std::int64_t> shape{kTexts, kPlaces, kChannels};
        add("outside", shape, outside);
        add("residual", shape, between.residual);
        add("norm", shape, between.norm);
        add("hidden", shape, between.hidden);
        add("bent", shape, between.bent);
        add("parameters/gain", {kChannels}, gain);
        add("parameters/shift", {kChannels}, shift);
        add("parameters/w", {kChannels, kChannels}, w);
        add("parameters/w_q", {kChannels, kChannels}, w_q);
        const Trace<float> edited = trace({set({Stage::Weights, 0}, 1, 2, 3, 0, 5)});
        for (const LostStage& lost : edited.lost) ADD_FAILURE() << tensor_name(lost.id) << ": " << lost.why;
        operands["q"] = layer_on(numbers_in(edited, {Stage::Concat, 0}), has_mean).q;
        const Maps expected = causal_attention(operands, [](const std::string&, std::vector<float>&) {});
        for (const char* stage : {"q", "scores", "weights", "concat"}) {
            const std::vector<float> now = numbers_in(edited, *stage_from_name(stage, 1));
            float farthest = 0;
            for (std::size_t i = 0; i < now.size(); ++i) {
                ASSERT_NEAR(now[i], expected.at(stage)[i], 2e-5F * (1 + std::abs(now[i]))) << stage << " " << i;
                farthest = std::max(farthest, std::abs(now[i] - of_second.at(stage)[i]));
            }
            EXPECT_GT(farthest, 1e-3F) << stage;
        }
        EXPECT_EQ(numbers_in(edited, {Stage::K, 1}), of_second.at("k"));
    }
}

/// Nothing is said of how the stages were made: what comes behind the edit in the usual order may have been made of it.
TEST_F(EditedRecording, WhatComesFromNowhereIsNotTakenForUntouched) {
    describe(attention("x",
                       R"({"name": "q", "op": "given", "axes": "BHTD"}, {"name": "k", "op": "given", "axes": "BGSD"},
        {"name": "scores", "op": "given", "axes": "BHTS"}, {"name": "v", "op": "given", "axes": "BGSD"},
        {"name": "weights", "op": "given", "axes": "BHTS"})",
                       kSmall));
    for (const char* name : {"q", "k", "v"}) add(std::string("x/") + name, {1, 1, 2, 1}, {1, 2});
    add("x/scores", {1, 1, 2, 2}, {1, 2, 2, 4});
    add("x/weights", {1, 1, 2, 2}, {1, 0, 0, 1});
    const Trace<float> edited = trace({set({Stage::Q, 0}, 0, 0, 0, 0, 5)});
    EXPECT_EQ(edited.find({Stage::Scores, 0}), nullptr);
    EXPECT_EQ(edited.find({Stage::Weights, 0}), nullptr);
    EXPECT_NE(edited.find({Stage::K, 0}), nullptr);
    EXPECT_NE(edited.find({Stage::V, 0}), nullptr);
    EXPECT_TRUE(trace({set({Stage::Weights, 0}, 0, 0, 0, 0, 5)}).lost.empty());
}

/// A row of padding is uniform because single precision rounds it so; in double precision it would not be.
TEST_F(EditedRecording, RoundsAsTheCodeDid) {
    describe(attention("x",
                       R"({"name": "scores", "op": "given", "axes": "BHTS"},
        {"name": "masked", "op": "mask", "inputs": ["scores"], "axes": "BHTS", "with": "inputs/mask", "how": "add"},
        {"name": "weights", "op": "softmax", "inputs": ["masked"], "axes": "BHTS", "over": "S"})",
                       kSmall),
             R"({"name": "inputs/mask", "op": "given", "called": "mask", "inputs": [], "axes": "TS"})");
    const float lowest = -1e9F;  // the next number is 64 away
    add("x/scores", {1, 1, 2, 2}, {1, 2, 3, 4});
    add("inputs/mask", {2, 2}, {lowest, lowest, 0, lowest});
    add("x/masked", {1, 1, 2, 2}, {lowest, lowest, 3, lowest});
    add("x/weights", {1, 1, 2, 2}, {0.5F, 0.5F, 1, 0});
    const Trace<float> edited = trace({set({Stage::Scores, 0}, 0, 0, 0, 0, 10)});
    EXPECT_EQ(numbers_in(edited, {Stage::Scores, 0}).at(0), 10);
    EXPECT_EQ(numbers_in(edited, {Stage::Masked, 0}).at(0), lowest);
    EXPECT_EQ(numbers_in(edited, {Stage::Weights, 0}), (std::vector<float>{0.5F, 0.5F, 1, 0}));
}

/// Of attentions that nothing links, the later ones may have been computed from the edited one, if the recording has no graph.
TEST_F(EditedRecording, WithoutAGraphOnlyWhatCameBeforeIsKept) {
    for (const char* name : {"first", "edited", "later"}) {
        add(std::string(name) + "/q", {1, 1, 2, 1}, {1, 2});
        add(std::string(name) + "/k", {1, 1, 2, 1}, {3, 4});
        add(std::string(name) + "/scores", {1, 1, 2, 2}, {3, 4, 6, 8});
    }
    const Trace<float> edited = trace({set({Stage::Q, 1}, 0, 0, 1, 0, 5)});
    EXPECT_EQ(numbers_in(edited, {Stage::Scores, 0}), (std::vector<float>{3, 4, 6, 8}));
    EXPECT_EQ(numbers_in(edited, {Stage::Scores, 1}), (std::vector<float>{3, 4, 15, 20}));
    EXPECT_EQ(edited.find({Stage::Q, 2}), nullptr);
    EXPECT_EQ(edited.find({Stage::Scores, 2}), nullptr);
}

TEST_F(EditedRecording, RoundsToTheTypeOfTheNumbers) {
    const double half = eps_of(DType::F16), brain = eps_of(DType::BF16), single = eps_of(DType::F32);
    EXPECT_EQ(rounded(1 + half / 2, half), 1) << "ties go to the even one";
    EXPECT_EQ(rounded(1 + 1.5 * half, half), 1 + 2 * half);
    EXPECT_EQ(rounded(65519, half), 65504);
    EXPECT_EQ(rounded(-65520, half), -std::numeric_limits<double>::infinity());
    EXPECT_EQ(rounded(0x1.8p-25, half), 0x1p-24) << "below the smallest normal one";
    EXPECT_EQ(rounded(3.14159, brain), 3.140625);
    EXPECT_EQ(rounded(0.1, single), static_cast<double>(0.1F));
    EXPECT_EQ(rounded(0.1, eps_of(DType::F64)), 0.1);
    EXPECT_TRUE(std::isnan(rounded(std::nan(""), half)));
    EXPECT_EQ(rounded(0, brain), 0);
}

/// Which cells were dropped was random; the edit does not draw again.
TEST_F(EditedRecording, KeepsWhatWasDropped) {
    describe(attention("x",
                       R"({"name": "weights", "op": "given", "axes": "BHTS"},
        {"name": "dropped", "op": "dropout", "rate": 0.5, "inputs": ["weights"], "axes": "BHTS"})",
                       kSmall));
    add("x/weights", {1, 1, 2, 2}, {1, 0, 0.25F, 0.75F});
    add("x/dropped", {1, 1, 2, 2}, {2, 0, 0, 1.5F});
    const auto dropped = [&](std::int64_t row, std::int64_t column) {
        return numbers_in(trace({set({Stage::Weights, 0}, 0, 0, row, column, 0.5)}), {Stage::Dropped, 0});
    };
    EXPECT_EQ(dropped(0, 0), (std::vector<float>{1, 0, 0, 1.5F}));
    EXPECT_EQ(dropped(1, 0), (std::vector<float>{2, 0, 0, 1.5F})) << "this one is dropped";
    EXPECT_TRUE(dropped(0, 1).empty()) << "0 stays 0, whether dropped or not";
}

/// A mask that is in no file: what it hides is seen in the numbers, if they do not depend on what they were before.
TEST_F(EditedRecording, AMaskIsSeenInWhatItHides) {
    const auto with_fill = [&](float other) {
        describe(attention("x",
                           R"({"name": "scores", "op": "given", "axes": "BHTS"},
            {"name": "masked", "op": "mask", "how": "masked_fill", "inputs": ["scores"], "axes": "BHTS"})",
                           kSmall));
        file_.arrays.clear();
        add("x/scores", {1, 1, 2, 2}, {1, 2, 3, 4});
        add("x/masked", {1, 1, 2, 2}, {1, -1e9F, 3, other});
        return numbers_in(trace({set({Stage::Scores, 0}, 0, 0, 1, 0, 8)}), {Stage::Masked, 0});
    };
    EXPECT_EQ(with_fill(-1e9F), (std::vector<float>{1, -1e9F, 8, -1e9F}));
    EXPECT_EQ(with_fill(4), (std::vector<float>{1, -1e9F, 8, 4}));
    EXPECT_TRUE(with_fill(-2e9F).empty()) << "it may have been added to what was there";
    EXPECT_THAT(why_lost(trace({set({Stage::Scores, 0}, 0, 0, 1, 0, 8)}), {Stage::Masked, 0}), HasSubstr("mask was not recorded"));
}

/// Whole heads, and numbers that stand for several.
TEST_F(EditedRecording, EveryKindOfEditApplies) {
    describe(attention("a", std::string(kUsualStages)));
    const Maps recorded = causal_attention(random_operands(9), shift_last_bits);
    add_stages("a", recorded);
    Edit freeze{.kind = EditKind::Freeze, .at = {Stage::Weights, 0}};
    freeze.head = 2, freeze.pattern = Pattern::Uniform;
    Edit take{.kind = EditKind::TakeRow, .at = {Stage::V, 0}};
    take.sequence = 0, take.head = 0, take.row = 3, take.from = 1;
    const Trace<float> edited = trace({freeze, take});
    const std::vector<float> weights = numbers_in(edited, {Stage::Weights, 0}), v = numbers_in(edited, {Stage::V, 0});
    EXPECT_EQ(weights[cell_at(1, 2, kQueryHeads, 1, 0, kPlaces)], 0.5F);
    EXPECT_EQ(weights[cell_at(1, 2, kQueryHeads, 1, 2, kPlaces)], 0);
    for (std::int64_t d = 0; d < kWidth; ++d)
        EXPECT_EQ(v[cell_at(0, 0, kSharedHeads, 3, d, kWidth)], recorded.at("v")[cell_at(0, 0, kSharedHeads, 1, d, kWidth)]);
    const std::vector<float> context = numbers_in(edited, {Stage::Context, 0});
    const float first = recorded.at("v")[cell_at(1, 1, kSharedHeads, 0, 0, kWidth)],
                second = recorded.at("v")[cell_at(1, 1, kSharedHeads, 1, 0, kWidth)];
    EXPECT_NEAR(context[cell_at(1, 2, kQueryHeads, 1, 0, kWidth)], (first + second) / 2, 1e-6);
}

TEST_F(EditedRecording, AnAxisThatHoldsForAllIsChangedForAll) {
    describe(attention("x",
                       R"({"name": "scores", "op": "given", "axes": "TS"},
        {"name": "weights", "op": "softmax", "inputs": ["scores"], "axes": "TS", "over": "S"})",
                       R"("axes": {"B": 1, "H": 2, "T": 2, "S": 2, "D": 1})"));
    add("x/scores", {2, 2}, {0, 0, 0, 0});
    add("x/weights", {2, 2}, {0.5F, 0.5F, 0.5F, 0.5F});
    const Trace<float> edited = trace({set({Stage::Scores, 0}, 0, 1, 0, 0, std::log(3))});
    const std::vector<float> weights = numbers_in(edited, {Stage::Weights, 0});
    ASSERT_EQ(weights.size(), 8U);
    for (const std::size_t head : {0U, 1U}) EXPECT_NEAR(weights[4 * head], 0.75, 1e-7) << head;
}

TEST_F(EditedRecording, MatricesWithoutMeaningCanBeChanged) {
    add("gram", {2, 3}, {1, 2, 3, 4, 5, 6});
    add("other", {2, 3}, {1, 2, 3, 4, 5, 6});
    const std::vector<Edit> edits{set({.stage = Stage::Other, .layer = 0}, 0, 0, 1, 2, -1)};
    const Trace<float> edited = trace(edits);
    EXPECT_EQ(numbers_in(edited, {.stage = Stage::Other, .layer = 0}), (std::vector<float>{1, 2, 3, 4, 5, -1}));
    EXPECT_EQ(numbers_in(edited, {.stage = Stage::Other, .layer = 1}), (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_TRUE(edited.lost.empty());
}

TEST_F(EditedRecording, InputsComeFirstInTheOrder) {
    describe(attention("a", std::string(kUsualStages)) + "," + attention("b", std::string(kUsualStages)),
             R"({"name": "last", "op": "add", "inputs": ["middle", "b/concat"], "axes": "BTC"},
                {"name": "middle", "op": "cast", "inputs": ["a/concat"], "axes": "BTC"})");
    const Recording recording = read_recording(folder_.path());
    std::vector<std::string> seen;
    for (const LinkedStage& each : stages_in_order(recording.graphs.at(0))) {
        for (const std::string& input : each.reads) EXPECT_THAT(seen, Contains(input)) << each.name;
        EXPECT_EQ(each.first_reader.has_value(), each.attention.has_value()) << each.name;
        seen.push_back(each.name);
    }
    EXPECT_EQ(seen.size(), 20U);
}

}  // namespace
}  // namespace attn::recording
