#include "app/panels/kit/look.hpp"
#include "app/panels/kit/navigation.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <vector>

#include "app/session/document/presets.hpp"
#include "engine/model/transformer.hpp"
#include "tests/support/interface_fixture.hpp"

namespace attn::app {
namespace {

/// Two layers of two heads over a sequence of 3 tokens.
Trace<float> small_trace(std::int64_t heads = 2, std::int64_t key_heads = 0) {
    Config config;
    config.vocab_size = 5;
    config.context_length = 8;
    config.num_heads = heads;
    config.num_kv_heads = key_heads;
    config.d_model = 4 * heads;
    config.d_ff = 8;
    config.num_layers = 2;
    config.lm_head = true;
    return trace_forward<float>(std::make_shared<const Parameters<float>>(config), {3, {1, 2, 3}, {3}}, {}, {});
}

TEST(Navigation, WalksEveryStageAndStopsAtTheEnds) {
    const Trace<float> trace = small_trace();
    ViewState view;
    go_to_first_stage(view, trace);
    EXPECT_FALSE(step_stage(view, trace, -1));
    std::size_t steps = 0;
    while (step_stage(view, trace, +1)) ++steps;
    EXPECT_EQ(steps, trace.stages.size() - 1);
    EXPECT_EQ(view.stage.stage, Stage::Probabilities);
}

TEST(Navigation, KeepsTheClosestStageWhenTheModelChanges) {
    const Trace<float> trace = small_trace();
    ViewState view;
    view.stage = {Stage::QRotated, 7};
    view.head = 9;
    view.batch = 4;
    keep_view_valid(view, trace);
    EXPECT_EQ(view.stage, (StageId{Stage::Scores, 1}));
    EXPECT_EQ(view.head, 1);
    EXPECT_EQ(view.batch, 0);
}

/// Following a number back has a way forth.
TEST(Navigation, WhatWasFollowedCanBeWalkedBackAndForth) {
    const Trace<float> trace = small_trace();
    ViewState view;
    view.stage = {Stage::Weights, 1};
    view.head = 1;
    view.locked.set(Axis::T, 2);
    view.locked.set(Axis::S, 1);
    const auto place = [&] { return TrailPlace{view.stage, view.head, view.batch, view.locked}; };
    walk_trail(view, trace, -1);
    EXPECT_EQ(view.stage, (StageId{Stage::Weights, 1})) << "there is no way back yet";
    std::vector<TrailPlace> way{place()};
    for (const CellRef& cell : {CellRef{{Stage::Scores, 1}, "", {0, 1, 2, 1}}, CellRef{{Stage::Q, 1}, "", {0, 1, 2, 3}},
                                CellRef{{Stage::Norm1, 1}, "", {0, 2, 3}}}) {
        go_to_cell(view, trace, cell);
        way.push_back(place());
    }
    ASSERT_EQ(
        std::set<std::string>({tensor_name(way[0].stage), tensor_name(way[1].stage), tensor_name(way[2].stage), tensor_name(way[3].stage)})
            .size(),
        4U);
    for (std::size_t i = way.size() - 1; i-- > 0;) {
        walk_trail(view, trace, -1);
        EXPECT_EQ(place(), way[i]);
    }
    walk_trail(view, trace, -1);
    EXPECT_EQ(place(), way.front()) << "it stays at the beginning";
    walk_trail(view, trace, +1);
    walk_trail(view, trace, +1);
    EXPECT_EQ(place(), way[2]);
    // Another turning gives up what lay ahead.
    go_to_cell(view, trace, CellRef{{Stage::K, 1}, "", {0, 1, 1, 0}});
    const TrailPlace turned = place();
    walk_trail(view, trace, +1);
    EXPECT_EQ(place(), turned);
    walk_trail(view, trace, -1);
    EXPECT_EQ(place(), way[2]);
    // So does looking elsewhere: the way begins there.
    view.stage = {Stage::Weights, 0};
    const TrailPlace elsewhere = place();
    go_to_cell(view, trace, CellRef{{Stage::Scores, 0}, "", {0, 1, 2, 1}});
    walk_trail(view, trace, -1);
    EXPECT_EQ(place(), elsewhere);
    walk_trail(view, trace, -1);
    EXPECT_EQ(place(), elsewhere);
}

TEST(Navigation, APositionBeyondTheTextGivesWayToTheLastToken) {
    const Trace<float> trace = small_trace();
    ViewState view;
    view.stage = {Stage::Weights, 0};
    keep_selection_in_text(view, trace);
    EXPECT_TRUE(view.locked.empty()) << "nothing selected stays nothing";
    view.locked.set(Axis::T, 1);
    view.locked.set(Axis::S, 22);
    view.locked.set(Axis::V, 4);
    keep_selection_in_text(view, trace);
    EXPECT_EQ(view.locked.on(Axis::T), 1);
    EXPECT_EQ(view.locked.on(Axis::S), 2);
    EXPECT_EQ(view.locked.on(Axis::V), 4) << "no position";
    view.locked.set(Axis::T, 3);
    keep_selection_in_text(view, trace);
    EXPECT_EQ(view.locked.on(Axis::T), 2);
}

class TextOfSelection : public test::InterfaceFixture {};

/// And it stays there when the text grows again.
TEST_F(TextOfSelection, AShorterTextKeepsATokenSelected) {
    open_example("gpt-tiny");
    const std::string text = session->document().texts[0];
    const auto last = static_cast<std::int64_t>(session->snapshot()->tokens[0].size()) - 1;
    ASSERT_GT(last, 2);
    view.locked.set(Axis::T, last);
    const auto type = [&](const std::string& words) {
        session->apply({command::SetTexts{{words}, {}}, ""});
        session->wait();
        frames(3, ui_frame);
    };
    type(text.substr(0, text.find(' ')));
    const auto shorter = static_cast<std::int64_t>(session->snapshot()->tokens[0].size()) - 1;
    ASSERT_LT(shorter, last);
    EXPECT_EQ(view.locked.on(Axis::T), shorter);
    EXPECT_TRUE(selected_cell(view, trace(), view.locked));
    type(text);
    EXPECT_EQ(view.locked.on(Axis::T), shorter);
}

TEST(Navigation, ChangesTheLayerButNotTheStage) {
    const Trace<float> trace = small_trace();
    ViewState view;
    view.stage = {Stage::Q, 0};
    go_to_layer(view, trace, 1);
    EXPECT_EQ(view.stage, (StageId{Stage::Q, 1}));
}

TEST(Navigation, AChosenCellIsReadInEveryStage) {
    const Trace<float> trace = small_trace();
    ViewState view;
    view.stage = {Stage::Scores, 0};
    view.head = 1;
    EXPECT_FALSE(selected_cell(view, trace, view.locked));
    view.locked.set(Axis::T, 2);
    view.locked.set(Axis::S, 1);
    const std::array<std::int64_t, 4> at_scores{0, 1, 2, 1}, at_residual{0, 2, 0, 0};
    EXPECT_EQ(selected_cell(view, trace, view.locked)->index, at_scores);
    view.stage = {Stage::Residual1, 0};
    EXPECT_EQ(selected_cell(view, trace, view.locked)->index, at_residual);
}

TEST(Navigation, ACellOfAHeadIsNamedByLayerAndHead) {
    const Trace<float> trace = small_trace();
    EXPECT_EQ(head_name(trace, {{Stage::Weights, 1}, "", {0, 0, 2, 1}}), "L1 H0");
    EXPECT_EQ(head_name(trace, {{Stage::Q, 0}, "", {0, 1, 2, 3}}), "L0 H1");
    EXPECT_EQ(head_name(trace, {{Stage::Residual1, 1}, "", {0, 2, 0, 0}}), "") << "heads are joined there";
    EXPECT_EQ(head_name(trace, {{}, "token_embedding", {}}), "") << "a parameter is of no head";
}

TEST(Navigation, ACellBeyondTheTextIsNoCell) {
    const Trace<float> trace = small_trace();
    ViewState view;
    view.stage = {Stage::Scores, 0};
    view.locked.set(Axis::T, 3);
    EXPECT_FALSE(selected_cell(view, trace, view.locked));
}

TEST(Navigation, GoingToACellChoosesItsAxes) {
    const Trace<float> trace = small_trace();
    ViewState view;
    CellRef cell;
    cell.stage = {Stage::Q, 1};
    cell.index = {0, 1, 2, 3};
    go_to_cell(view, trace, cell);
    EXPECT_EQ(view.stage, cell.stage);
    EXPECT_EQ(view.head, 1);
    EXPECT_EQ(view.locked.on(Axis::T), 2);
    EXPECT_EQ(view.locked.on(Axis::D), 3);
    EXPECT_EQ(selected_cell(view, trace, view.locked)->index, cell.index);
}

// Four heads over two key/value heads: heads 2 and 3 read the second.
TEST(Navigation, AHeadOfTheQueriesFindsTheKeysThatItReads) {
    const Trace<float> trace = small_trace(4, 2);
    const StageId keys{Stage::K, 0};
    ViewState view;
    view.stage = keys;
    view.head = 3;
    view.locked.set(Axis::S, 2);
    const std::optional<CellRef> key = selected_cell(view, trace, view.locked);
    ASSERT_TRUE(key.has_value());
    EXPECT_EQ(key->index, (std::array<std::int64_t, 4>{0, 1, 2, 0}));
    go_to_cell(view, trace, *key);
    EXPECT_EQ(view.head, 3);  // it reads that key head already
    go_to_cell(view, trace, {keys, "", {0, 0, 1, 0}});
    EXPECT_EQ(view.head, 0);  // the first that does
    keep_view_valid(view, trace);
    EXPECT_EQ(view.head, 0);
}

class OpeningTest : public test::InterfaceFixture {};

/// Nothing is kept that only made sense for another example.
TEST_F(OpeningTest, AnExampleIsLookedAtWhereItBegins) {
    open_example("encoder-decoder");
    view.stage = {Stage::QRotated, 1, Stack::Encoder};
    view.view = View::Lines;
    view.batch = 1;
    view.head = 3;
    view.gradients = view.paint.on = true;
    view.locked.set(Axis::T, 5);
    view.compare.choose(Compare::Unmasked);
    view.zooms["weights"].rows.zoom = 3;
    frames(2, ui_frame);
    with_context([](PanelContext& context) { app::open_example(context, find_preset("multi-head")); });
    frames(3, ui_frame);
    EXPECT_EQ(session->document().preset, "multi-head");
    EXPECT_EQ(view.stage, (StageId{Stage::Concat, 0})) << "the stage that its sentence speaks of";
    EXPECT_EQ(view.view, View::Step);
    EXPECT_EQ(view.batch, 0);
    EXPECT_EQ(view.head, 0);
    EXPECT_FALSE(view.gradients || view.paint.on || view.compare.on());
    EXPECT_TRUE(view.zooms.find("weights") == view.zooms.end() || view.zooms["weights"].whole());
    EXPECT_LT(view.locked.on(Axis::T).value_or(99), trace().tokens.lengths[0]) << "no padding is chosen";
    EXPECT_FALSE(view.text_row.source);
    EXPECT_FALSE(view.opening);
}

TEST_F(OpeningTest, APlaceThatWasLookedAtIsFoundAgain) {
    open_example("gpt-tiny");
    view.view = View::Lines;
    view.stage = {Stage::Weights, 1};
    view.head = 2;
    view.gradients = true;
    view.locked.set(Axis::T, 3);
    view.locked.set(Axis::S, 1);
    view.compare.choose(Compare::Itself);
    view.compare.lay_out(CompareLayout::SideBySide);
    view.compare.layer = 0;
    frames(2, ui_frame);
    const Look look = look_of(view);
    open_example("stories");
    frames(2, ui_frame);
    EXPECT_NE(look_of(view), look);
    session->apply({command::OpenPreset{"gpt-tiny", 0}, ""});
    session->wait();
    look_afresh(view, look);
    frames(3, ui_frame);
    EXPECT_EQ(look_of(view), look);
    EXPECT_TRUE(view.compare.on());
    EXPECT_EQ(view.compare.layer, 0);
}

TEST_F(OpeningTest, KeysGoThroughTheSentencesOfAnExample) {
    open_example("stories");
    const std::vector<PresetSentence>& sentences = find_preset("stories").sentences;
    ASSERT_GT(sentences.size(), 2U);
    const auto key = [&](const char* typed) {
        type(typed, ui_frame);
        frames(2, ui_frame);
        session->wait();
        frames(2, ui_frame);
        return session->document().texts;
    };
    EXPECT_EQ(key("."), sentences[1].texts);
    EXPECT_EQ(key("."), sentences[2].texts);
    EXPECT_EQ(key(","), sentences[1].texts);
    EXPECT_EQ(key(","), sentences[0].texts);
    EXPECT_EQ(key(","), sentences[0].texts) << "the first";
    // Other texts are gone through as those of a batch.
    session->apply({command::SetTexts{{"Lily has a ball .", "Tom is sad ."}, {}}, ""});
    session->wait();
    frames(2, ui_frame);
    key(".");
    EXPECT_EQ(view.batch, 1);
    EXPECT_EQ(session->document().texts.size(), 2U);
}

TEST_F(OpeningTest, TheTextIsThatOfTheStage) {
    open_example("encoder-decoder");
    view.stage = {Stage::Q, 0, Stack::Encoder};
    frames(2, ui_frame);
    EXPECT_TRUE(view.text_row.source) << "its rows are the words of the source";
    view.stage = {Stage::Weights, 0, Stack::Decoder, kCrossAttention};
    frames(2, ui_frame);
    EXPECT_FALSE(view.text_row.source);
    view.text_row.source = true;
    frames(2, ui_frame);
    EXPECT_TRUE(view.text_row.source) << "who turns to the other text sees it";
    view.stage = {Stage::Tokens, -1, Stack::Decoder};
    frames(2, ui_frame);
    EXPECT_FALSE(view.text_row.source) << "a text in the picture is the one in the row";
}

/// As after a start with the text that was there last.
TEST_F(OpeningTest, AnOwnTextOpensAtItsLastWord) {
    open_example("stories");
    session->apply({command::SetTexts{{"Sofia gives a kite to Ben . Who has the kite ?"}, {}}, ""});
    session->wait();
    const std::optional<Look> look = look_of_own_text(session->document());
    ASSERT_TRUE(look);
    EXPECT_TRUE(look->cell.empty());
    look_afresh(view, *look);
    frames(3, ui_frame);
    EXPECT_EQ(view.stage, (StageId{Stage::Weights, 1}));
    EXPECT_EQ(view.head, 2);
    EXPECT_EQ(view.locked.on(Axis::T), 11);
}

}  // namespace
}  // namespace attn::app
