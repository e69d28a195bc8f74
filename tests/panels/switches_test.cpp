/// The switches beside a picture: all heads or one, A or B or their difference; and the summaries of collapsed run settings.

#include <gtest/gtest.h>

#include <set>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/kit/train_words.hpp"
#include "app/panels/views/look_at_line.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/session/document/presets.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

class SwitchTest : public InterfaceFixture {
protected:
    SwitchTest() { open_example("causal-attention"); }
    /// Clicks pill number `pill` of the segmented control `id` in a window; false if it is not there.
    bool press_pill(const char* window, const char* id, int pill) {
        const ImGuiWindow* in = find_window(window);
        if (in == nullptr) return false;
        const ImGuiID group = ImHashStr(id, 0, in->ID), item = pill_id(group, pill);
        for (float y = in->Pos.y + 2; y < in->Pos.y + std::min(in->Size.y, 90.0F); y += 7)
            for (float x = in->Pos.x + in->Size.x - 2; x > in->Pos.x; x -= 9) {
                move_mouse(x, y);
                frame(ui_frame);
                if (ImGui::GetCurrentContext()->HoveredIdPreviousFrame != item && ImGui::GetCurrentContext()->HoveredId != item) continue;
                click(x, y, ui_frame);
                frames(3, ui_frame);
                return true;
            }
        return false;
    }
    static ImGuiID pill_id(ImGuiID group, int pill) {
        const ImGuiID own = ImHashData(&pill, sizeof(pill), group);
        return ImHashStr("pill", 0, own);
    }
};

/// All heads of all layers are the second page of Heads.
TEST_F(SwitchTest, HeadsOfOneLayerOrOfAll) {
    open_example("gpt-tiny");
    view.view = View::Heads;
    view.stage = {Stage::Weights, 1};
    view.head = 1;
    frames(3, ui_frame);
    ASSERT_TRUE(press_pill("##centre", "##pages", 1));
    EXPECT_EQ(view.view, View::Grid);
    EXPECT_EQ(view.head, 1);
    ASSERT_TRUE(press_pill("##centre", "##pages", 0));
    EXPECT_EQ(view.view, View::Heads);
    EXPECT_EQ(view.stage, (StageId{Stage::Weights, 1}));
    open_example("multi-head");
    view.view = View::Heads;
    frames(3, ui_frame);
    EXPECT_FALSE(press_pill("##centre", "##pages", 1)) << "it has one layer";
}

TEST_F(SwitchTest, WhatIsOpenedShowsTheWeightsOfAllHeads) {
    view.heads.stage = Stage::Scaled;
    look_afresh(view, Look{});
    EXPECT_EQ(view.stage.stage, Stage::Scores) << "the first step of the equation";
    EXPECT_EQ(view.heads.stage, Stage::Weights);
    Look heads;
    heads.view = View::Heads;
    heads.stage = {Stage::Masked, 0};
    turn_to(view, heads);
    EXPECT_EQ(view.heads.stage, Stage::Masked) << "as a lesson wants it";
}

TEST(TrainWords, SayWhichTokenizerTheTextUses) {
    RunSettings settings;
    settings.task.kind = TaskKind::Text;
    EXPECT_EQ(promise(settings), "learns to write like the text, letter by letter");
    settings.task.tokenizer = TokenizerKind::Bpe;
    EXPECT_EQ(promise(settings), "learns to write like the text, piece by piece");
}

TEST_F(SwitchTest, AOrBOrTheDifference) {
    view.view = View::Step;
    view.stage = {Stage::Weights, 0};
    frames(2, ui_frame);
    EXPECT_FALSE(press_pill("##text", "##compared", 0)) << "nothing is compared";
    view.compare.choose(Compare::Unmasked);
    frames(4, ui_frame);
    ASSERT_TRUE(press_pill("##text", "##compared", 0));
    EXPECT_EQ(view.compare.layout, CompareLayout::InPlace);
    EXPECT_TRUE(view.compare.swapped) << "A stands in the place of B without a key being held";
    ASSERT_TRUE(press_pill("##text", "##compared", 1));
    EXPECT_EQ(view.compare.layout, CompareLayout::InPlace);
    EXPECT_FALSE(view.compare.swapped);
    ASSERT_TRUE(press_pill("##text", "##compared", 2));
    EXPECT_EQ(view.compare.layout, CompareLayout::All);
    EXPECT_FALSE(view.compare.swapped);
    view.compare.lay_out(CompareLayout::InPlace, true);
    view.compare.end();
    frames(2, ui_frame);
    EXPECT_FALSE(view.compare.first) << "the next comparison begins with both";
}

/// What the line with the eye says.
class EyeLine : public InterfaceFixture {
protected:
    std::string words_at(const StageId& stage, std::int64_t head, std::int64_t query, std::int64_t key, View shown = View::Step) {
        view.view = shown;
        view.stage = stage;
        view.head = head;
        view.locked.clear();
        view.locked.set(Axis::T, query);
        view.locked.set(Axis::S, key);
        std::string words;
        frame([&] {
            ImGui::Begin("eye");
            with_context([&](PanelContext& context) { words = eye_sentence(context); });
            ImGui::End();
        });
        return words;
    }
};

/// A sentence written for a text belongs to its layer, head and cell; elsewhere the numbers speak for themselves.
TEST_F(EyeLine, AHintBelongsToItsPlace) {
    open_example("stories");
    const Look look = *find_preset("stories").sentences.front().look;
    std::int64_t query = 0, key = 0;
    for (const auto& [axis, index] : look.cell) (axis == Axis::T ? query : key) = index;
    const std::string& hint = find_preset("stories").sentences.front().look_at;
    EXPECT_EQ(words_at(look.stage, look.head, query, key), hint);
    EXPECT_EQ(words_at(look.stage, look.head, query, key, View::Heads), hint);
    const std::int64_t other_head = look.head == 0 ? 1 : 0;
    EXPECT_NE(words_at(look.stage, other_head, query, key), hint);
    EXPECT_NE(words_at(look.stage, look.head, query - 1, key), hint);
    StageId other_layer = look.stage;
    other_layer.layer = look.stage.layer == 0 ? 1 : 0;
    EXPECT_NE(words_at(other_layer, look.head, query, key), hint);
    EXPECT_NE(words_at(other_layer, look.head, query, key, View::Heads), hint);
    EXPECT_EQ(words_at({Stage::FfnOut, look.stage.layer}, look.head, query, key), "") << "nothing is said of this stage";
}

TEST_F(EyeLine, LaterStagesSayWhereTheirRowComesFrom) {
    open_example("stories");
    const auto& tokens = session->snapshot()->tokens.front();
    const std::int64_t row = 9;
    const auto& mixed_by = trace().find(trace().plan->at({Stage::Context, 1}).inputs.front())->value;
    std::int64_t best = 0;
    for (std::int64_t s = 0; s <= row; ++s)
        if (mixed_by(0, 2, row, s) > mixed_by(0, 2, row, best)) best = s;
    EXPECT_EQ(words_at({Stage::Context, 1}, 2, row, 0), percent_words(static_cast<double>(mixed_by(0, 2, row, best))) +
                                                            " of this row is what “" + tokens[static_cast<std::size_t>(best)].text +
                                                            "” has to give.");
    const auto& before = trace().find({Stage::Residual2, 0})->value;
    const auto& after = trace().find({Stage::Residual1, 1})->value;
    double added = 0, length = 0;
    for (std::int64_t c = 0; c < before.shape()[2].size; ++c) {
        added += std::pow(static_cast<double>(after(0, row, c)) - static_cast<double>(before(0, row, c)), 2);
        length += std::pow(static_cast<double>(before(0, row, c)), 2);
    }
    const std::string share = std::to_string(std::lround(100 * std::sqrt(added / length)));
    EXPECT_TRUE(words_at({Stage::Residual1, 1}, 2, row, 0)
                    .starts_with("Attention changes the row of “" + tokens[row].text + "” by " + share + " %"))
        << share;
    const std::int64_t last = trace().tokens.length - 1;
    view.locked.set(Axis::V, 0);
    words_at({Stage::Probabilities}, 0, last, 0);
    session->wait();
    view.locked.set(Axis::V, 0);
    const std::string asked = words_at({Stage::Probabilities}, 0, last, 0);
    session->wait();
    EXPECT_TRUE(words_at({Stage::Probabilities}, 0, last, 0).starts_with("“Lily” is likeliest after “?”: ")) << asked;
}

TEST_F(EyeLine, ElsewhereTheRowIsPutIntoWords) {
    open_example("stories");
    const auto& weights = trace().find({Stage::Weights, 1})->value;
    const std::int64_t keys = trace().tokens.length, row = 9;
    std::int64_t best = 0;
    for (std::int64_t s = 0; s <= row; ++s)
        if (weights(0, 2, row, s) > weights(0, 2, row, best)) best = s;
    const auto& tokens = session->snapshot()->tokens.front();
    const std::string words = words_at({Stage::Weights, 1}, 2, row, 0);
    EXPECT_TRUE(words.starts_with("“" + tokens[row].text + "” takes most from “" + tokens[static_cast<std::size_t>(best)].text + "”: "))
        << words;
    EXPECT_EQ(words_at({Stage::Masked, 1}, 2, row, 0), "“" + tokens[row].text + "” may look at 10 of " + std::to_string(keys) + " words.");
    open_example("gpt-tiny");
    session->apply({command::SetTexts{{"another text of its own"}, {}}, ""});  // for which nothing was written
    session->wait();
    EXPECT_NE(words_at({Stage::Weights, 0}, 0, 3, 0).find("mean nothing"), std::string::npos) << "of random weights it claims nothing";
}

/// Of words that the model has never read it is said once what they mean to it.
TEST_F(EyeLine, SaysWhatNewWordsMeanUntilAnotherPlaceIsLookedAt) {
    open_example("stories");
    session->apply({command::SetTexts{{"Tom gives a red glimmer to Lily because she is sad . Who has the glimmer ?"}, {}}, ""});
    session->wait();
    const std::string told = words_at({Stage::Weights, 1}, 2, 16, 6);
    EXPECT_NE(told.find("“glimmer”"), std::string::npos) << told;
    EXPECT_EQ(words_at({Stage::Weights, 1}, 2, 16, 6), told);
    EXPECT_EQ(words_at({Stage::Weights, 1}, 2, 16, 5).find("new to this model"), std::string::npos);
}

TEST_F(EyeLine, AMistakeIsSaidInEveryLayer) {
    open_example("stories");
    ForwardSettings broken = session->document().forward;
    broken.mistake = Mistake::KeysValuesSwapped;
    session->apply({command::SetForward{broken}, ""});
    session->wait();
    const std::string words = words_at({Stage::Weights, 0}, 0, 3, 1);
    EXPECT_FALSE(words.empty());
    EXPECT_EQ(words_at({Stage::Weights, 2}, 1, 5, 1), words);
}

/// Its room is kept where it has nothing to say, so that the picture does not move.
TEST_F(EyeLine, KeepsItsRoom) {
    open_example("causal-attention");
    std::set<float> heights;
    for (const Stage stage : {Stage::Scores, Stage::Weights, Stage::Concat}) {
        view.stage = {stage, 0};
        frame([&] {
            ImGui::Begin("eye");
            with_context([&](PanelContext& context) { heights.insert(draw_look_at(context, {0, 900}, 800)); });
            ImGui::End();
        });
    }
    EXPECT_EQ(heights.size(), 1U);
    EXPECT_GT(*heights.begin(), 0);
}

TEST(RunWords, FoldedPartsSayWhatIsSet) {
    RunSettings run;
    run.train.schedule.rate = 3e-3;
    run.model.num_layers = 1;
    run.model.num_heads = 4;
    EXPECT_EQ(optimizer_words(run), "rate 0.003, AdamW");
    EXPECT_EQ(size_words(run), "1 layer × 4 heads");
    EXPECT_EQ(stop_words({.steps = 0}), "no limit");
    EXPECT_EQ(stop_words({.steps = 600, .loss = 0.02, .accuracy = 0.995}), "99.5 %, loss 0.02, 600 steps");
    EXPECT_EQ(sampling_words({.temperature = 0.8, .top_k = 5, .top_p = 1}), "temperature 0.80, top-k 5");
    EXPECT_EQ(sampling_words({.temperature = 1, .top_k = 0, .top_p = 0.9}), "temperature 1.00, top-p 0.90");
    EXPECT_EQ(sampling_words({.top_k = 3, .top_p = 0.5, .min_p = 0.25}), "temperature 1.00, top-k 3, top-p 0.50, min-p 0.25");
}

}  // namespace
}  // namespace attn::app::test
