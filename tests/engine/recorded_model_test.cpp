/// Recordings as models of ours. PyTorch recorded the model in tests/golden/recorded, and computed the logits of another text with it.

#include "engine/recording/model_of_recording.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "engine/families/model_folder.hpp"
#include "engine/families/write_model.hpp"
#include "engine/io/npz.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/model/transformer.hpp"
#include "engine/train/train_step.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::recording {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::filesystem::path kFolder = std::filesystem::path(ATTN_TEST_DATA) / "golden/recorded";
constexpr const char* kStep = "run1-step00000000-rank0.safetensors";

class RecordedModelTest : public testing::Test {
protected:
    RecordedModelTest() { std::filesystem::copy(kFolder / "run.attn", path()); }
    std::filesystem::path path() const { return folder_ / "run.attn"; }

    /// Replaces what is recorded of the graph.
    void describe(const std::string& what, const std::string& by) const {
        std::ifstream in(path() / "recording.json");
        std::string text{std::istreambuf_iterator<char>(in), {}};
        const std::size_t at = text.find(what);
        ASSERT_NE(at, std::string::npos) << what;
        text.replace(at, what.size(), by);
        std::ofstream(path() / "recording.json") << text;
    }
    void change_number(const std::string& tensor, float by) const {
        ArrayFile file = read_safetensors(path() / kStep);
        const auto found =
            std::find_if(file.arrays.begin(), file.arrays.end(), [&](const NamedArray& each) { return each.name == tensor; });
        ASSERT_NE(found, file.arrays.end()) << tensor;
        std::vector<float> numbers = values_as<float>(*found, "");
        numbers.front() += by;
        *found = make_array<float>(tensor, found->shape, numbers);
        write_safetensors(path() / kStep, file);
    }
    std::string refusal() const {
        try {
            model_of_recording(read_recording(path()));
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }

    test::TemporaryFolder folder_;
};

std::vector<float> logits_of(const std::shared_ptr<const Parameters<float>>& parameters, const std::vector<std::int32_t>& ids) {
    const auto length = static_cast<std::int64_t>(ids.size());
    ForwardSettings settings;
    settings.masks.causal = true;
    const auto trace = trace_forward<float>(parameters, {length, ids, {length}}, {}, settings);
    const auto logits = trace.find({Stage::Logits})->value.values();
    return {logits.begin(), logits.end()};
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b, float most) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], most) << i;
}

TEST_F(RecordedModelTest, ComputesWhatTheCodeComputesForAnotherText) {
    const RecordedModel model = model_of_recording(read_recording(path()));
    EXPECT_THAT(model.tokens.ids, ElementsAre(3, 1, 4, 1, 5, 9, 2, 6, 5, 3));
    EXPECT_EQ(model.tokens.length, 5);
    EXPECT_FALSE(model.of_vectors);
    EXPECT_EQ(model.compared, 39U);
    EXPECT_LT(model.farthest, 2e-6);
    EXPECT_THAT(model.proof(), HasSubstr("All 39 stages of layers 0 to 1 equal the recording within"));
    EXPECT_EQ(model.config.architecture, Architecture::DecoderOnly);
    EXPECT_EQ(model.config.num_heads, 2);
    EXPECT_EQ(model.config.context_length, 8);
    EXPECT_EQ(model.config.activation, Activation::GeluErf);
    EXPECT_TRUE(model.config.lm_head_bias);
    const ArrayFile other = read_npz(kFolder / "other.npz");
    expect_near(logits_of(model.parameters, other.values<std::int32_t>("tokens")), other.values<float>("logits"), 2e-5F);
}

TEST_F(RecordedModelTest, IsTheSameFromItsFolder) {
    const RecordedModel model = model_of_recording(read_recording(path()));
    const std::filesystem::path written = folder_ / "model";
    EXPECT_FALSE(holds_model(written));
    write_model(written, *model.parameters);
    EXPECT_TRUE(holds_model(written, *model.parameters));
    const auto parameters = load_parameters<float>(open_model_folder(written));
    const std::vector<std::int32_t> ids{8, 9, 7, 10, 0, 2, 3, 8};
    EXPECT_EQ(logits_of(parameters, ids), logits_of(model.parameters, ids));
    auto changed = *model.parameters;
    changed.data()[changed.count() - 1] += 1;
    EXPECT_FALSE(holds_model(written, changed));
}

TEST_F(RecordedModelTest, AChangedParameterIsNoticed) {
    for (const char* name : {"token_embedding", "parameters/places.weight", "parameters/layers.0.attention.qkv.weight",
                             "parameters/layers.1.norm2.bias", "parameters/layers.1.down.weight", "parameters/final.weight",
                             "parameters/head.bias", "layers.1.attention/weights", "layers.0/ffn_activation"}) {
        SCOPED_TRACE(name);
        std::filesystem::copy_file(kFolder / "run.attn" / kStep, path() / kStep, std::filesystem::copy_options::overwrite_existing);
        change_number(name, 0.001F);
        EXPECT_NE(refusal(), "");
    }
    std::filesystem::copy_file(kFolder / "run.attn" / kStep, path() / kStep, std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(refusal(), "");
}

TEST_F(RecordedModelTest, TheFirstStageThatDiffersIsNamed) {
    change_number("layers.0.attention/weights", 0.001F);
    EXPECT_THAT(refusal(), AllOf(HasSubstr("differs at layers.0.attention/weights[0,0,0,0]: "), HasSubstr(" recorded, ")));
}

TEST_F(RecordedModelTest, WhatNoModelOfOursComputesIsRefusedInOneSentence) {
    const struct {
        std::string what, by, sentence;
    } cases[] = {
        {R"("name":"weights","op":"softmax")", R"("name":"weights","op":"mix")", "layers.0.attention/weights (model_test.py:"},
        {R"("name":"weights","op":"softmax")", R"("name":"weights","op":"mix")", "is mix, which an attention of ours does not have there"},
        {R"("kind":"self")", R"("kind":"cross")", "follows no attention of its own text in its layer"},
        {R"("calls":1)", R"("calls":3)", "ran 3 times in this step"},
        {R"("scale":0.5)", R"("scale":null)", "scales its scores by more than one number"},
        {R"("name":"final_norm","op":"norm")", R"("name":"final_norm","op":"given")", "final_norm (model_test.py:"},
        {R"("inputs":["layers.0/residual_1","layers.0/ffn_out"])", R"("inputs":["layers.0/ffn_out"])",
         "layers.0/residual_2 (model_test.py:"},
        {R"("graphs":)", R"("graph":)", "nothing tells how the stages were computed"},
    };
    for (const auto& each : cases) {
        SCOPED_TRACE(each.what);
        std::filesystem::copy_file(kFolder / "run.attn/recording.json", path() / "recording.json",
                                   std::filesystem::copy_options::overwrite_existing);
        describe(each.what, each.by);
        EXPECT_THAT(refusal(), HasSubstr(each.sentence));
    }
}

TEST_F(RecordedModelTest, CanBeTrained) {
    const RecordedModel model = model_of_recording(read_recording(path()));
    TrainingState<float> state(*model.parameters);
    TrainSettings settings;
    settings.schedule.rate = 0.01;
    settings.forward.masks.causal = true;
    std::vector<std::int32_t> targets;
    for (const std::int32_t id : model.tokens.ids) targets.push_back((id + 1) % 11);
    const double before = state.evaluate(model.tokens, {}, targets, settings).loss;
    for (int step = 0; step < 30; ++step) ASSERT_TRUE(state.step(model.tokens, {}, targets, settings).applied());
    EXPECT_LT(state.evaluate(model.tokens, {}, targets, settings).loss, before / 2);
}

}  // namespace
}  // namespace attn::recording
