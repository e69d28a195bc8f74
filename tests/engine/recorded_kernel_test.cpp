/// What PyTorch's kernels of whole layers keep to themselves. PyTorch recorded two encoder layers in tests/golden/recorded/layers.attn, and
/// computed their maps otherwise.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "engine/io/npz.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/recording/edited_trace.hpp"
#include "engine/recording/follow.hpp"
#include "engine/recording/model_of_recording.hpp"
#include "engine/recording/recorded_trace.hpp"
#include "engine/tensor/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::recording {
namespace {

using testing::HasSubstr;

const std::filesystem::path kGolden = std::filesystem::path(ATTN_TEST_DATA) / "golden/recorded";
constexpr const char* kOnlyStep = "run1-step00000000-rank0.safetensors";

class RecordedKernel : public testing::Test {
protected:
    RecordedKernel() {
        std::filesystem::copy(kGolden / "layers.attn", path());
        std::ifstream in(path() / "recording.json");
        text_ = {std::istreambuf_iterator<char>(in), {}};
    }
    std::filesystem::path path() const { return folder_ / "layers.attn"; }
    void replace(const std::string& what, const std::string& by) {
        const std::size_t at = text_.find(what);
        ASSERT_NE(at, std::string::npos) << what;
        text_.replace(at, what.size(), by);
        std::ofstream(path() / "recording.json") << text_;
    }
    void change_number(const std::string& tensor, float by) const {
        ArrayFile file = read_safetensors(path() / kOnlyStep);
        const auto found =
            std::find_if(file.arrays.begin(), file.arrays.end(), [&](const NamedArray& each) { return each.name == tensor; });
        ASSERT_NE(found, file.arrays.end()) << tensor;
        std::vector<float> numbers = values_as<float>(*found, "");
        numbers.front() += by;
        *found = make_array<float>(tensor, found->shape, numbers);
        write_safetensors(path() / kOnlyStep, file);
    }
    /// Of what the kernel left.
    StageCheck result(std::size_t layer) const {
        const Recording recording = read_recording(path());
        const StepFile& file = step_file(recording, {});
        const RecordedGraph& graph = recording.graphs.at(0);
        const auto checks = check_stages(graph, graph.attentions.at(layer), RecordedStep(file), parameters_as_of(recording, file));
        EXPECT_EQ(checks.size(), graph.attentions.at(layer).stages.size() + 1);
        return checks.back();
    }
    Trace<float> trace(const std::vector<Edit>& edits = {}) const {
        const Recording recording = read_recording(path());
        const StepFile& file = step_file(recording, {});
        const RecordedStep step(file);
        const RecordedGraph& graph = recording.graphs.at(0);
        const FindParameter parameter = parameters_as_of(recording, file);
        const std::vector<AttentionGroup> groups = groups_of(graph, step);
        const RecordedGroup recorded{recording, graph, groups.at(0), step, parameter};
        return with_edits(trace_of(recorded, 100), recorded, edits);
    }
    static std::vector<float> numbers(const Trace<float>& trace, Stage stage, int layer) {
        const attn::RecordedStage<float>* found = trace.find({.stage = stage, .layer = layer});
        if (found == nullptr) return {};
        return {found->value.data(), found->value.data() + found->value.size()};
    }

    test::TemporaryFolder folder_;
    std::string text_;
};

TEST_F(RecordedKernel, MapsThatItKeptAreThoseOfPyTorch) {
    const ArrayFile golden = read_npz(kGolden / "layers.npz");
    const Trace<float> drawn = trace();
    for (const int layer : {0, 1}) {
        EXPECT_EQ(result(static_cast<std::size_t>(layer)).outcome, Outcome::Follows) << layer;
        const std::vector<float> expected = golden.values<float>("weights." + std::to_string(layer));
        const std::vector<float> weights = numbers(drawn, Stage::Weights, layer);
        ASSERT_EQ(weights.size(), expected.size());
        for (std::size_t i = 0; i < weights.size(); ++i) ASSERT_NEAR(weights[i], expected[i], 2e-6) << layer << " " << i;
    }
}

/// Everything that is computed inside leads to what the kernel left.
TEST_F(RecordedKernel, EveryParameterIsConfirmedByTheResult) {
    for (const char* parameter : {"self_attn.in_proj_weight", "self_attn.out_proj.bias", "norm1.weight", "norm2.bias", "linear1.weight",
                                  "linear1.bias", "linear2.weight"}) {
        const std::string name = std::string("parameters/layers.0.") + parameter;
        change_number(name, 0.125F);
        EXPECT_EQ(result(0).outcome, Outcome::Differs) << name;
        EXPECT_EQ(result(1).outcome, Outcome::Follows) << name;
        change_number(name, -0.125F);
        EXPECT_EQ(result(0).outcome, Outcome::Follows) << name;
    }
    change_number("layers.0/norm_2", 0.01F);
    EXPECT_EQ(result(0).outcome, Outcome::Differs);
    EXPECT_EQ(result(0).cell, (std::vector<std::int64_t>{0, 0, 0}));
}

/// The code that is edited is the kernel's: what follows from a changed weight is computed, up to the result of the attention.
TEST_F(RecordedKernel, EditsInsideChangeWhatFollows) {
    Edit edit{.kind = EditKind::Set, .at = {.stage = Stage::Weights, .layer = 0}};
    edit.sequence = 0, edit.head = 1, edit.row = 2, edit.column = 3, edit.value = 0.75;
    const Trace<float> before = trace(), after = trace({edit});
    for (const Stage stage : {Stage::Context, Stage::Concat, Stage::AttentionOut}) {
        const std::vector<float> was = numbers(before, stage, 0), is = numbers(after, stage, 0);
        ASSERT_EQ(was.size(), is.size()) << static_cast<int>(stage);
        ASSERT_FALSE(was.empty()) << static_cast<int>(stage);
        EXPECT_NE(was, is) << static_cast<int>(stage);
    }
    EXPECT_EQ(numbers(before, Stage::Scores, 0), numbers(after, Stage::Scores, 0));
}

/// What stands behind the end of a text, where the kernel leaves zeros, is not compared; all else has to be the same.
TEST_F(RecordedKernel, WithPaddingBecomesAModel) {
    const RecordedModel model = model_of_recording(read_recording(path()));
    EXPECT_GT(model.compared, 0U);
    EXPECT_LT(model.farthest, 1e-5);
    EXPECT_LT(*std::min_element(model.tokens.lengths.begin(), model.tokens.lengths.end()), model.tokens.length);
    change_number("layers.0/norm_2", 0.01F);
    EXPECT_THAT([&] { model_of_recording(read_recording(path())); }, ThrowsMessage<Error>(HasSubstr("layers.0/norm_2")));
}

/// Kernels that are not there, of other attentions, or with other sizes make stages unknown; nothing is read out of place, and all ends.
TEST_F(RecordedKernel, FalseDescriptionsDoNoHarm) {
    const std::string original = text_;
    std::mt19937 random(5);
    const std::vector<std::pair<std::string, std::string>> changes{
        {R"("kernel":"layers.0")", R"("kernel":"layers.1")"},
        {R"("kernel":"layers.1")", R"("kernel":"layers.0")"},
        {R"("kernel":"layers.0")", R"("kernel":"nobody")"},
        {R"("inputs":["embedding"])", R"("inputs":["layers.1/norm_2"])"},
        {R"("inputs":["layers.0/norm_2"])", R"("inputs":["layers.1/residual_1"])"},
        {R"("H":2)", R"("H":3)"},
        {R"("D":4)", R"("D":1099511627776)"},
        {R"("T":5)", R"("T":0)"},
        {R"("axes":"BHTD")", R"("axes":"BTC")"},
        {R"("axes":"BTC")", R"("axes":"BHTD")"},
        {R"("eps":1e-05)", R"("eps":"inf")"},
        {R"("called":"relu")", R"("called":"relu6")"},
        {R"("op":"norm")", R"("op":"linear")"},
        {R"("op":"add")", R"("op":"norm")"},
    };
    int checked = 0;
    for (int trial = 0; trial < 200; ++trial) {
        text_ = original;
        for (int change = 0; change < 2; ++change) {
            const auto& [what, by] = changes[random() % changes.size()];
            std::vector<std::size_t> places;
            for (std::size_t at = text_.find(what); at != std::string::npos; at = text_.find(what, at + 1)) places.push_back(at);
            if (!places.empty()) text_.replace(places[random() % places.size()], what.size(), by);
        }
        std::ofstream(path() / "recording.json") << text_;
        try {
            const Recording recording = read_recording(path());
            const StepFile& file = step_file(recording, {});
            const RecordedGraph& graph = recording.graphs.at(0);
            for (const RecordedAttention& attention : graph.attentions)
                checked += static_cast<int>(check_stages(graph, attention, RecordedStep(file), parameters_as_of(recording, file)).size());
            trace();
            model_of_recording(recording);
        } catch (const Error&) {
            ++checked;  // it was said
        }
    }
    EXPECT_GT(checked, 200);
}

}  // namespace
}  // namespace attn::recording
