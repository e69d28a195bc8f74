/// The switches beside a picture: all heads or one, A or B or their difference; and the summaries of collapsed run settings.

#include <gtest/gtest.h>

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

TEST_F(SwitchTest, OneHeadOrAllOfThem) {
    view.view = View::Step;
    view.stage = {Stage::Weights, 0};
    view.head = 1;
    frames(3, ui_frame);
    ASSERT_TRUE(press_pill("##centre", "##heads", 0));
    EXPECT_EQ(view.view, View::Heads);
    EXPECT_EQ(view.heads.stage, Stage::Weights);
    ASSERT_TRUE(press_pill("##centre", "##heads", 1));
    EXPECT_EQ(view.view, View::Step);
    EXPECT_EQ(view.stage, (StageId{Stage::Weights, 0}));
    EXPECT_EQ(view.head, 1);
    view.stage = {Stage::Concat, 0};
    frames(3, ui_frame);
    EXPECT_FALSE(press_pill("##centre", "##heads", 0)) << "this stage has no maps of heads";
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

TEST_F(SwitchTest, TheLineBelowThePictureLeadsToWhatItDescribes) {
    open_example("stories");
    const Look described = find_preset("stories").sentences.front().look.value();
    view.view = View::Heads;
    view.stage = {Stage::Weights, 0};
    view.head = 0;
    ASSERT_NE(view.stage, described.stage);
    view.locked.clear();
    frames(3, ui_frame);
    const auto at = find_item(
        "##centre", {"##look_at"},
        [this](float x, float y) {
            move_mouse(x, y);
            frame(ui_frame);
        },
        60, 6);
    ASSERT_TRUE(at.has_value());
    click(at->x, at->y, ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(view.view, View::Heads);
    EXPECT_EQ(view.stage, described.stage);
    EXPECT_EQ(view.head, described.head);
    EXPECT_EQ(view.locked.on(Axis::S), 6);
}

/// A sentence that names a layer is longer, and so takes more lines at some width.
TEST_F(SwitchTest, TheSentenceOfAMistakeNamesNoLayer) {
    open_example("stories");
    ImGui::GetIO().DisplaySize = {1600, 1000};
    const int own = find_preset("stories").sentences.front().look.value().stage.layer, other = own == 0 ? 2 : 0;
    const auto widths_that_differ = [&] {
        int differing = 0;
        for (float width = 120; width < 800; width += 10) {
            std::array<float, 2> heights{};
            for (const int layer : {other, own}) {
                view.stage = {Stage::Weights, layer};
                frame([&] {
                    ImGui::Begin("below");
                    with_context([&](PanelContext& context) { heights[layer == own ? 1 : 0] = draw_look_at(context, {0, 900}, width); });
                    ImGui::End();
                });
            }
            differing += heights[0] != heights[1] ? 1 : 0;
        }
        return differing;
    };
    EXPECT_GT(widths_that_differ(), 0) << "the example's own sentence is about one layer";
    ForwardSettings broken = session->document().forward;
    broken.mistake = Mistake::KeysValuesSwapped;
    session->apply({command::SetForward{broken}, ""});
    session->wait();
    EXPECT_EQ(widths_that_differ(), 0) << "the mistake is made in every layer";
}

TEST_F(SwitchTest, TheLineBelowThePictureIsShownOnlyAtStagesThatItDescribes) {
    open_example("causal-attention");
    ImGui::GetIO().DisplaySize = {1600, 1000};
    const auto height_at = [this](Stage stage) {
        view.stage = {stage, 0};
        float height = -1;
        frame([&] {
            ImGui::Begin("below");
            with_context([&](PanelContext& context) { height = draw_look_at(context, {0, 900}, 800); });
            ImGui::End();
        });
        return height;
    };
    EXPECT_EQ(height_at(Stage::Scores), 0) << "nothing is masked there yet";
    const float height = height_at(Stage::Weights);
    EXPECT_GT(height, 0);
    // An edit makes it disappear, but leaves its room until another place is looked at.
    session->apply({command::SetTexts{{"another text"}, {}}, ""});
    session->wait();
    EXPECT_EQ(height_at(Stage::Weights), height) << "the picture stays where it is";
    EXPECT_EQ(height_at(Stage::Scores), 0);
    EXPECT_EQ(height_at(Stage::Weights), 0);
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
