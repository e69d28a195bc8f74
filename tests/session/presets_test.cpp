#include "app/session/document/presets.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "app/session/document/prepare.hpp"
#include "app/session/session.hpp"
#include "assets/embedded.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/npz.hpp"
#include "engine/model/transformer.hpp"
#include "engine/reference/verify.hpp"

namespace attn::app {
namespace {

template <class Scalar>
Trace<Scalar> trace_of(const Document& document) {
    const Prepared prepared = prepare(document);
    auto parameters = std::make_shared<const Parameters<Scalar>>(initial_parameters<Scalar>(prepared.config));
    if constexpr (std::is_same_v<Scalar, float>)
        if (document.shipped != nullptr) parameters = document.shipped->checkpoint.parameters;
    return trace_forward<Scalar>(parameters, prepared.tokens, prepared.source, document.forward);
}

TEST(Presets, NamesAreThoseOfTheMenuInItsOrder) {
    std::vector<std::string> names;
    for (const Preset& preset : presets()) names.push_back(preset.name);
    ASSERT_GT(names.size(), 10U);
    EXPECT_EQ(preset_names(), names);
}

TEST(Presets, AreAllThereInTheOrderOfTheMenu) {
    std::vector<std::string> names;
    for (const Preset& preset : presets()) names.push_back(preset.name);
    EXPECT_EQ(names,
              (std::vector<std::string>{"stories", "induction", "addition", "masked", "translation", "self-attention", "causal-attention",
                                        "independent-heads", "multi-head", "encoder-block", "gpt-tiny", "llama-tiny", "encoder-decoder",
                                        "decoder-block", "post-norm-encoder", "numpy-single-head", "numpy-three-heads"}));
}

TEST(Presets, SayWhatToLookAt) {
    std::set<std::string> titles;
    for (const Preset& preset : presets()) {
        EXPECT_TRUE(titles.insert(preset.title).second) << preset.name;
        EXPECT_GT(preset.document.look_at.size(), 40U) << preset.name;
        EXPECT_LT(preset.document.look_at.size(), 200U) << preset.name;
        EXPECT_EQ(preset.document.preset, preset.name);
        EXPECT_NE(find_embedded(embedded_assets(), "presets/" + preset.name + ".json"), nullptr) << preset.name;
        if (preset.document.shipped != nullptr) continue;  // it has its own vocabulary
        for (const std::string& text : preset.document.texts)
            EXPECT_NE(std::find(preset.document.vocabulary_texts.begin(), preset.document.vocabulary_texts.end(), text),
                      preset.document.vocabulary_texts.end());
    }
}

TEST(Presets, TheirSentenceStandsOnlyWhereItIsTrue) {
    const Document document = open_preset("causal-attention");
    EXPECT_EQ(look_at(document), document.look_at);
    EXPECT_EQ(look_at(document, StageId{Stage::Scores}), "") << "nothing is masked there yet";
    EXPECT_EQ(look_at(document, StageId{Stage::Weights}), document.look_at);
    EXPECT_EQ(look_at(open_preset("self-attention"), StageId{Stage::Scores}), open_preset("self-attention").look_at)
        << "true of all stages";
    Document other = document;
    other.texts = {"another text"};
    EXPECT_EQ(look_at(other), "");
    other = document;
    other.forward.masks.causal = false;
    EXPECT_EQ(look_at(other), "");
    other = document;
    other.config.num_heads = 1;
    EXPECT_EQ(look_at(other), "");
    other = document;
    other.trained = TrainedModel{};
    EXPECT_EQ(look_at(other), "");
    other.forward.mistake = Mistake::CausalLeaksOne;
    EXPECT_EQ(look_at(other), mistake_info(Mistake::CausalLeaksOne).look);
}

TEST(Presets, OpenAtAStageThatTheyHave) {
    for (const Preset& preset : presets()) {
        Session session(preset.document, [] {});
        const Trace<float>& trace = *session.wait()->trace;
        const auto has = [&](const StageId& id) {
            return std::any_of(trace.stages.begin(), trace.stages.end(), [&](const auto& stage) { return same_role(stage.id, id); });
        };
        for (std::size_t i = 0; i < preset.sentences.size(); ++i)
            EXPECT_TRUE(has(opening_look(preset, i).stage)) << preset.name << ", sentence " << i;
        for (const StageId& id : preset.look_stages) EXPECT_TRUE(has(id)) << preset.name << " " << stage_name(id);
    }
}

TEST(Presets, AreOpenedWithTheSentenceThatWasTyped) {
    Session session(open_preset("causal-attention"), [] {});
    session.apply({command::OpenPreset{"gpt-tiny"}, ""});
    EXPECT_EQ(session.document().texts, open_preset("gpt-tiny").texts) << "nothing was typed";
    session.apply({command::SetTexts{{"the rain was warm"}, {}}, ""});
    session.apply({command::OpenPreset{"causal-attention"}, ""});
    EXPECT_EQ(session.document().texts, std::vector<std::string>{"the rain was warm"});
    EXPECT_EQ(session.document().config, open_preset("causal-attention").config) << "everything else is the example's";
    session.apply({command::OpenPreset{"encoder-decoder"}, ""});
    EXPECT_EQ(session.document().texts, open_preset("encoder-decoder").texts) << "which reads two texts at once";
    session.apply({command::Undo{}, ""});
    session.apply({command::OpenPreset{"causal-attention"}, ""});
    EXPECT_EQ(session.document().texts, open_preset("causal-attention").texts) << "chosen again it has its own sentence";
}

TEST(Presets, ComputeAndAgreeWithTheReference) {
    for (const Preset& preset : presets()) {
        SCOPED_TRACE(preset.name);
        const Trace<float> trace = trace_of<float>(preset.document);
        const reference::Verification verification = reference::verify(trace);
        EXPECT_TRUE(verification.ok) << verification.max_abs;
        EXPECT_EQ(verification.stages.size(), trace.stages.size());
    }
}

/// Compares a stage of a trace, or columns of a parameter, with an array of the file.
class Notebook {
public:
    Notebook(const char* file, double atol, double rtol)
        : file_(read_npz(std::string(ATTN_TEST_DATA "/golden/") + file)), atol_(atol), rtol_(rtol) {}

    template <class Scalar>
    void expect_stage(const Trace<Scalar>& trace, Stage stage, std::int64_t head, const std::string& name) {
        const auto* recorded = trace.find({stage, is_layer_stage(stage) ? 0 : -1});
        ASSERT_NE(recorded, nullptr) << stage_name({stage});
        const std::vector<double> expected = file_.values<double>(name);
        const auto size = static_cast<std::int64_t>(expected.size());
        ASSERT_LE((head + 1) * size, recorded->value.size()) << name;
        for (std::int64_t i = 0; i < size; ++i)
            expect_near(recorded->value.data()[head * size + i], expected[static_cast<std::size_t>(i)], name);
    }

    template <class Scalar>
    void expect_columns(const Parameters<Scalar>& parameters, const char* parameter, std::int64_t first, const std::string& name) {
        const ParameterInfo* info = parameters.layout().find(parameter);
        ASSERT_NE(info, nullptr) << parameter;
        const NamedArray& array = file_.at(name);
        const std::vector<double> expected = file_.values<double>(name);
        ASSERT_EQ(info->shape[0].size, array.shape.at(0));
        for (std::int64_t r = 0; r < array.shape[0]; ++r)
            for (std::int64_t c = 0; c < array.shape[1]; ++c)
                expect_near(parameters.find(parameter)[r * info->shape[1].size + first + c],
                            expected[static_cast<std::size_t>(r * array.shape[1] + c)], name);
    }

    template <class Scalar>
    void expect_head(const Trace<Scalar>& trace, std::int64_t head, const std::string& prefix) {
        const std::int64_t heads = trace.config.num_heads, width = trace.config.head_size();
        expect_columns(*trace.parameters, "layers.0.attention.qkv.weight", head * width, prefix + "w_q");
        expect_columns(*trace.parameters, "layers.0.attention.qkv.weight", (heads + head) * width, prefix + "w_k");
        expect_columns(*trace.parameters, "layers.0.attention.qkv.weight", (2 * heads + head) * width, prefix + "w_v");
        for (const Stage stage : {Stage::Q, Stage::K, Stage::V, Stage::Scores, Stage::Scaled, Stage::Weights, Stage::Context})
            expect_stage(trace, stage, head, prefix + stage_name({stage}));
    }

    int compared() const { return compared_; }

private:
    void expect_near(double value, double expected, const std::string& name) {
        ++compared_;
        const double error = std::abs(value - expected);
        EXPECT_TRUE(error <= atol_ + rtol_ * std::abs(expected)) << name << ": " << value << " instead of " << expected;
    }

    ArrayFile file_;
    double atol_, rtol_;
    int compared_ = 0;
};

template <class Scalar>
void expect_single_head(double atol, double rtol) {
    Notebook notebook("notebook_single_head.npz", atol, rtol);
    const Trace<Scalar> trace = trace_of<Scalar>(open_preset("numpy-single-head"));
    notebook.expect_stage(trace, Stage::Embedding, 0, "x");
    notebook.expect_head(trace, 0, "");
    EXPECT_EQ(notebook.compared(), 24 + 3 * 36 + 4 * 24 + 3 * 16);
}

template <class Scalar>
void expect_three_heads(double atol, double rtol) {
    Notebook notebook("notebook_multi_head.npz", atol, rtol);
    const Trace<Scalar> trace = trace_of<Scalar>(open_preset("numpy-three-heads"));
    notebook.expect_stage(trace, Stage::Embedding, 0, "x");
    for (std::int64_t head = 0; head < 3; ++head) notebook.expect_head(trace, head, "head" + std::to_string(head) + ".");
    notebook.expect_columns(*trace.parameters, "layers.0.attention.out.weight", 0, "w_o");
    notebook.expect_stage(trace, Stage::Concat, 0, "concat");
    notebook.expect_stage(trace, Stage::AttentionOut, 0, "output");
    EXPECT_EQ(notebook.compared(), 48 + 3 * (3 * 48 + 4 * 16 + 3 * 16) + 144 + 48 + 48);
}

TEST(Presets, GiveTheNotebooksNumbersInDouble) {
    expect_single_head<double>(1e-12, 0);
    expect_three_heads<double>(1e-12, 0);
}

// Relative to the number, or to 1 for numbers near 0, which are sums of terms of that size.
TEST(Presets, GiveTheNotebooksNumbersInFloat) {
    expect_single_head<float>(1e-5, 1e-5);
    expect_three_heads<float>(1e-5, 1e-5);
}

TEST(Presets, OtherSeedsDoNotGiveTheNotebooksNumbers) {
    Document document = open_preset("numpy-single-head");
    document.config.seed = 1;
    const Trace<double> trace = trace_of<double>(document);
    const ArrayFile file = read_npz(ATTN_TEST_DATA "/golden/notebook_single_head.npz");
    const double expected = file.values<double>("q").at(0);
    EXPECT_FALSE(std::abs(trace.find({Stage::Q, 0})->value.data()[0] - expected) <= 1e-12);
}

TEST(ParsePreset, IsStrict) {
    const std::string good = R"({"name": "n", "title": "t", "order": 1, "look_at": "l", "texts": ["a"]})";
    EXPECT_EQ(parse_preset(good, "p.json").document.texts.at(0), "a");
    for (const char* bad : {
             R"({"name": "n", "title": "t", "order": 1, "look_at": "l", "texts": ["a"], "look_stages": ["wieghts"]})",
             R"({"title": "t", "order": 1, "look_at": "l", "texts": ["a"]})",
             R"({"name": "n", "order": 1, "look_at": "l", "texts": ["a"]})",
             R"({"name": "n", "title": "t", "look_at": "l", "texts": ["a"]})",
             R"({"name": "n", "title": "t", "order": 1, "texts": ["a"]})",
             R"({"name": "n", "title": "t", "order": 1, "look_at": "l"})",
             R"({"name": "n", "title": "t", "order": 1, "look_at": "l", "texts": []})",
             R"({"name": "n", "title": "t", "order": 1, "look_at": "l", "texts": "a"})",
             R"({"name": "n", "title": "t", "order": 1, "look_at": "l", "texts": ["a"], "tokenizer": "morse"})",
             R"({"name": "n", "title": "t", "order": 1, "look_at": "l", "texts": ["a"], "colour": 1})",
             R"({"name": "n", "title": "t", "order": 1, "look_at": "l", "texts": ["a"], "config": {"d_modle": 4}})",
             R"({"name": "n", "title": "t", "order": 1, "look_at": "l", "texts": ["a"], "forward": {"masks": {"window": 1.5}}})",
             "",
             "[]",
             "{",
         })
        EXPECT_THROW(parse_preset(bad, "p.json"), FileError) << bad;
}

}  // namespace
}  // namespace attn::app
