/// What the worth of heads is measured by: the loss where it counts.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "app/panels/kit/emit.hpp"
#include "app/panels/kit/texts.hpp"
#include "app/panels/views/knock_out_parts.hpp"
#include "app/panels/views/knock_out_question.hpp"
#include "app/panels/views/token_choice.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/facets/token_search.hpp"
#include "app/session/session.hpp"
#include "app/session/values/knock_out.hpp"
#include "app/session/values/next_words.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

class CountedTest : public InterfaceFixture {
protected:
    /// What is asked once everything is computed.
    KnockOutQuestion question() {
        frames(3, ui_frame);
        session->wait();
        frames(3, ui_frame);
        KnockOutQuestion found;
        with_context([&](PanelContext& context) { found = knock_out_question(context); });
        return found;
    }

    /// Two texts that differ in one word, in Knock-out.
    void open_two_texts(const std::string& first, const std::string& second) {
        open_example("gpt-tiny");
        session->apply({command::SetTexts{{first, second}, {}}, ""});
        session->wait();
        view.view = View::KnockOut;
    }

    /// The list of tokens that can be asked about.
    void open_token_list() {
        const auto button = find_item("##knock_out", {"of", "button"}, [&](float x, float y) {
            ImGui::GetIO().MousePos = {x, y};
            frames(1, ui_frame);
        });
        ASSERT_TRUE(button.has_value());
        click(button->x, button->y, ui_frame);
        frames(3, ui_frame);
    }
};

TEST_F(CountedTest, KnockOutMeasuresOnlyWhatCounts) {
    open_example("gpt-tiny");
    const Tensor<float>& chances = trace().find({Stage::Probabilities, -1})->value;
    const auto& tokens = trace().tokens;
    const auto loss_at = [&](std::int64_t t) {
        return -std::log(static_cast<double>(chances(0, t, tokens.ids[static_cast<std::size_t>(t + 1)])));
    };
    std::vector<std::uint8_t> counted(tokens.ids.size(), 0);
    counted[2] = counted[5] = 1;
    const auto worth = get(facet::KnockOut{KnockOutQuestion{{}, counted}});
    EXPECT_NEAR(worth->with_all, (loss_at(2) + loss_at(5)) / 2, 1e-4);
    EXPECT_TRUE(session->snapshot()->asked.empty()) << "no run says what counts";
    EXPECT_EQ(session->compute(facet::KnockOut{KnockOutQuestion{{}, {1, 0}}}).value, nullptr);
}

/// After the last word, no word of the text follows: the likeliest one is asked for.
TEST_F(CountedTest, TheQuestionAfterTheTextIsAboutTheLikeliestWord) {
    open_example("stories");
    view.view = View::KnockOut;
    view.knock_out.measure = AnswerMeasure::Probability;
    const auto& tokens = trace().tokens;
    const auto asked_at = [&](std::int64_t position) {
        view.locked.clear();
        view.locked.set(Axis::T, position);
        frames(3, ui_frame);
        std::optional<KnockOutQuestion::Place> place;
        with_context([&](PanelContext& context) { place = knock_out_question(context).place; });
        return place.value_or(KnockOutQuestion::Place{});
    };
    EXPECT_EQ(asked_at(0).token, tokens.ids.at(1));
    const Tensor<float>& chances = trace().find({Stage::Probabilities, -1})->value;
    const std::int64_t last = tokens.lengths[0] - 1;
    const float* row = chances.data() + last * chances.shape()[2].size;
    const auto likeliest = static_cast<std::int32_t>(std::max_element(row, row + chances.shape()[2].size) - row);
    ASSERT_NE(likeliest, tokens.ids.at(static_cast<std::size_t>(last)));
    EXPECT_EQ(asked_at(last).token, likeliest);
}

/// Numbers are taken from another text, never from the shown one, and the view lists and draws them.
TEST_F(CountedTest, AnotherTextsNumbersReplaceThoseOfTheShownOne) {
    open_example("gpt-tiny");
    session->apply({command::SetTexts{{"the cat sat", "the dog sat", "a cow sat"}, {}}, ""});
    session->wait();
    view.view = View::KnockOut;
    view.knock_out.measure = AnswerMeasure::Probability;
    view.knock_out.parts = ReplacedParts::Positions;
    using Patch = KnockOutQuestion::Patch;
    EXPECT_FALSE(question().patch);
    EXPECT_EQ(question().parts, ReplacedParts::Heads) << "only another text's positions can replace positions";
    view.knock_out.from = 1;
    EXPECT_EQ(question().patch, (Patch{1, 0}));
    EXPECT_EQ(question().parts, ReplacedParts::Positions);
    EXPECT_EQ(view.knock_out.last->parts.size(), static_cast<std::size_t>(trace().config.num_layers * 3));
    view.batch = 1;
    EXPECT_EQ(question().patch, (Patch{0, 1})) << "the text beside it";
    view.batch = 0;
    EXPECT_EQ(question().patch, (Patch{1, 0}));
    view.knock_out.from = 9;
    EXPECT_FALSE(question().patch) << "there is no such text";
    view.knock_out.from = 2;
    session->apply({command::SetTexts{{"the cat sat"}, {}}, ""});
    session->wait();
    EXPECT_FALSE(question().patch);
}

/// The other answer is what the other text says there, else the likeliest other token; a chosen one stays.
TEST_F(CountedTest, ALogitDifferenceIsAgainstTheOtherTextsAnswer) {
    open_two_texts("the cat sat on", "the cat ran on");
    view.knock_out.measure = AnswerMeasure::LogitDifference;
    view.locked.set(Axis::T, 1);
    const Tensor<float>& logits = trace().find(trace().plan->logits())->value;
    const auto& ids = trace().tokens.ids;
    const auto logit = [&](std::int32_t token) { return static_cast<double>(logits(0, 1, token)); };
    KnockOutQuestion asked = question();
    ASSERT_EQ(asked.measure(), AnswerMeasure::LogitDifference);
    EXPECT_EQ(asked.place->token, ids.at(2));
    std::int32_t likeliest = -1;
    for (std::int32_t token = 0; token < trace().config.vocab_size; ++token)
        if (token > 1 && token != ids.at(2) && (likeliest < 0 || logit(token) > logit(likeliest))) likeliest = token;
    EXPECT_EQ(asked.place->against, likeliest);
    ASSERT_NE(view.knock_out.last, nullptr);
    EXPECT_NEAR(view.knock_out.last->with_all, logit(ids.at(2)) - logit(likeliest), 1e-5);
    view.knock_out.from = 1;
    asked = question();
    EXPECT_EQ(asked.place->against, ids.at(static_cast<std::size_t>(trace().tokens.length) + 2)) << "ran";
    ASSERT_NE(asked.place->against, likeliest);
    EXPECT_NEAR(*view.knock_out.last->in_other_text,
                static_cast<double>(logits(1, 1, ids.at(2))) - static_cast<double>(logits(1, 1, *asked.place->against)), 1e-5);
    view.knock_out.against = likeliest;
    EXPECT_EQ(question().place->against, likeliest);
    view.knock_out.against = ids.at(2);
    EXPECT_NE(question().place->against, ids.at(2)) << "not against itself";
}

/// Source and target are matched each for itself.
TEST_F(CountedTest, TextsOfDifferentLengthsAreSaidToBeMatchedByPosition) {
    const auto said = [&](const std::vector<std::string>& texts, const std::vector<std::string>& sources) {
        session->apply({command::SetTexts{texts, sources}, ""});
        session->wait();
        return measured_words(trace(), {.patch = {{1, 0}}});
    };
    open_example("gpt-tiny");
    EXPECT_EQ(said({"the cat sat", "the dog sat"}, {}).find("matched"), std::string::npos);
    EXPECT_NE(said({"the cat sat", "the dog"}, {}).find("The texts have 3 and 2 tokens"), std::string::npos);
    open_example("encoder-decoder");
    const std::string words = said({"the cat", "the dog"}, {"the dog sleeps", "the dog"});
    EXPECT_NE(words.find("The sources have 3 and 2 tokens"), std::string::npos) << words;
    EXPECT_EQ(words.find("The targets"), std::string::npos) << words;
}

TEST(TokenChoice, FindsTokensByTheirText) {
    const std::vector<std::string> vocabulary{"a", " Mary", "Mary", "Rosemary", " Maryland", "maryland"};
    EXPECT_EQ(tokens_with(vocabulary, "Mary", 9), (std::vector<std::int32_t>{1, 2, 4, 5, 3}));
    EXPECT_EQ(tokens_with(vocabulary, " mary", 9), (std::vector<std::int32_t>{1, 2, 4, 5, 3})) << "as it begins, then as it contains";
    EXPECT_EQ(tokens_with(vocabulary, "maryland", 9), (std::vector<std::int32_t>{5, 4})) << "as it is written comes first";
    EXPECT_EQ(tokens_with(vocabulary, "Mary", 2), (std::vector<std::int32_t>{1, 2}));
    EXPECT_TRUE(tokens_with(vocabulary, " ", 9).empty());
    EXPECT_TRUE(tokens_with(vocabulary, "zebra", 9).empty());
    EXPECT_EQ(tokens_named(vocabulary, "Mary"), (std::vector<std::int32_t>{2, 1}));
    EXPECT_EQ(tokens_named(vocabulary, " Mary"), (std::vector<std::int32_t>{1}));
    EXPECT_EQ(tokens_named(vocabulary, "\"Mary\""), (std::vector<std::int32_t>{2}));
    EXPECT_EQ(tokens_named(vocabulary, "\" Mary\""), (std::vector<std::int32_t>{1}));
    EXPECT_EQ(tokens_named(vocabulary, "Maryland"), (std::vector<std::int32_t>{4})) << "with a space before it";
    EXPECT_TRUE(tokens_named(vocabulary, "\"Maryland\"").empty());
    EXPECT_TRUE(tokens_named(vocabulary, "land").empty());
}

/// What was chosen is a text: in another vocabulary it has another id, or none.
TEST(TokenChoice, FollowsATokenIntoAnotherVocabulary) {
    const std::vector<std::string> before{"a", "b", "c"}, after{"b", "x", "c"};
    std::optional<NamedToken> was;
    EXPECT_EQ(followed_token(before, 1, was), 1);
    EXPECT_EQ(followed_token(after, 1, was), 0) << "where b is now";
    EXPECT_EQ(followed_token(after, 2, was), 2) << "chosen anew";
    EXPECT_EQ(followed_token(before, 2, was), 2) << "the same in both";
    EXPECT_EQ(followed_token(before, 0, was), 0);
    EXPECT_EQ(followed_token(after, 0, was), std::nullopt) << "there is no a";
    EXPECT_EQ(followed_token(after, 0, was), 0) << "chosen anew";
    EXPECT_EQ(followed_token(after, 3, was), std::nullopt) << "there is no such id";
}

TEST_F(CountedTest, TheOtherTokenIsFollowedIntoAnotherVocabulary) {
    open_two_texts("the cat sat on", "the cat ran on");
    view.knock_out.measure = AnswerMeasure::LogitDifference;
    const std::vector<std::string>& vocabulary = session->snapshot()->vocabulary;
    const std::int32_t sat = tokens_named(vocabulary, "sat").at(0);
    view.knock_out.against = sat;
    frames(3, ui_frame);
    EXPECT_EQ(view.knock_out.against, sat);
    session->apply({command::OpenPreset{"stories", 0}, ""});
    session->wait();
    frames(3, ui_frame);
    const std::vector<std::int32_t> there = tokens_named(session->snapshot()->vocabulary, "\"sat\"");
    ASSERT_TRUE(there.empty() || there.front() != sat) << "or this test says nothing";
    EXPECT_EQ(view.knock_out.against, there.empty() ? std::nullopt : std::optional(there.front()));
}

/// Of several texts, the loss is that of the one that is looked at, and the view says which.
TEST_F(CountedTest, TheLossIsThatOfTheShownText) {
    open_two_texts("the cat sat on", "the dog");
    const Tensor<float>& chances = trace().find({Stage::Probabilities, -1})->value;
    const auto& tokens = trace().tokens;
    view.batch = 1;
    const KnockOutQuestion asked = question();
    const std::int32_t dog = tokens.ids[static_cast<std::size_t>(tokens.length + 1)];
    EXPECT_NEAR(get(facet::KnockOut{asked})->with_all, -std::log(static_cast<double>(chances(1, 0, dog))), 1e-4);
    with_context([&](PanelContext& context) { EXPECT_EQ(question_words(context, asked), "next-token loss on text 2 of 2"); });
    view.batch = 0;
    EXPECT_NE(question(), asked);
}

/// The side pane counts the numbers of a stage, which Knock-out does not show.
TEST_F(CountedTest, KnockOutHasNoHistogram) {
    open_example("gpt-tiny");
    view.stage = {Stage::Weights, 0};
    view.inspector.all = true;
    const auto height_beside = [&](View shown) {
        view.view = shown;
        frames(3, ui_frame);
        return find_window("##cell")->ContentSize.y;
    };
    EXPECT_LT(height_beside(View::KnockOut) + 100, height_beside(View::Lines)) << "which explains the same cell";
}

/// The text's own token is a click away again.
TEST_F(CountedTest, TheTokenAskedAboutIsChosenFromAList) {
    open_example("stories");
    view.view = View::KnockOut;
    view.knock_out.measure = AnswerMeasure::Probability;
    view.locked.set(Axis::T, 0);
    const auto asked = [&] { return question().place->token; };
    const std::int32_t own = asked();
    ASSERT_EQ(own, trace().tokens.ids.at(1));
    const auto& vocabulary = session->snapshot()->vocabulary;
    const std::int32_t other = tokens_named(vocabulary, "Mia").at(0);
    view.locked.set(Axis::V, other);
    ASSERT_EQ(asked(), other);
    open_token_list();
    for (int i = 0; i < 40; ++i) press(Key::Up, ui_frame);
    press(Key::Enter, ui_frame);
    EXPECT_EQ(asked(), own) << "the first of the list";
    EXPECT_EQ(view.locked.on(Axis::V), std::nullopt) << "so that another position asks for its own";
}

TEST_F(CountedTest, AnyTokenCanBeTypedInTheList) {
    open_example("stories");
    view.view = View::KnockOut;
    view.knock_out.measure = AnswerMeasure::Probability;
    frames(3, ui_frame);
    open_token_list();
    type("Mia", ui_frame);
    press(Key::Enter, ui_frame);
    EXPECT_EQ(view.locked.on(Axis::V), tokens_named(session->snapshot()->vocabulary, "Mia").at(0));
}

TEST_F(CountedTest, AModelWithoutAHeadOffersNoTokens) {
    open_example("gpt-tiny");
    view.view = View::KnockOut;
    const auto offers_tokens = [&](AnswerMeasure measure) {
        view.knock_out.measure = measure;
        frames(3, ui_frame);
        session->wait();
        frames(3, ui_frame);
        const auto move = [&](float x, float y) {
            ImGui::GetIO().MousePos = {x, y};
            frames(1, ui_frame);
        };
        return find_item("##knock_out", {"of", "button"}, move).has_value();
    };
    ASSERT_TRUE(offers_tokens(AnswerMeasure::Probability));
    Config config = session->document().config;
    config.lm_head = false;
    session->apply({command::SetConfig{config}, ""});
    EXPECT_FALSE(offers_tokens(AnswerMeasure::Probability));
    EXPECT_FALSE(offers_tokens(AnswerMeasure::LogitDifference));
}

TEST_F(CountedTest, TheViewScrollsWhereItsPictureHasNoRoom) {
    open_two_texts("the cat sat", "the dog sat");
    view.knock_out.from = 1;
    const auto scrolls = [&](ImVec2 size) {
        ImGui::GetIO().DisplaySize = size;
        frames(3, ui_frame);
        session->wait();
        frames(3, ui_frame);
        const ImGuiWindow* window = find_window("##knock_out");
        return window != nullptr && window->ScrollMax.y > 0;
    };
    EXPECT_FALSE(scrolls({1600, 1000}));
    EXPECT_TRUE(scrolls({680, 420}));
    ImGui::GetIO().DisplaySize = {1600, 1000};
}

/// Every kind of part that the menu offers is measured, drawn and listed; the others are not offered.
TEST_F(CountedTest, EveryKindOfPartHasItsPicture) {
    open_two_texts("the cat sat", "the dog sat");
    view.knock_out.from = 1;
    const std::int64_t layers = trace().config.num_layers, heads = trace().config.num_heads;
    const std::vector<std::pair<ReplacedParts, std::int64_t>> columns = {{ReplacedParts::Heads, heads},
                                                                         {ReplacedParts::Blocks, 2},
                                                                         {ReplacedParts::Positions, 3},
                                                                         {ReplacedParts::AttentionPositions, 3},
                                                                         {ReplacedParts::FeedForwardPositions, 3}};
    std::vector<ReplacedParts> offered;
    for (const auto& [parts, count] : columns) {
        offered.push_back(parts);
        view.view = View::KnockOut;
        view.knock_out.parts = parts;
        frames(3, ui_frame);
        session->wait();
        canvas.calls.clear();
        frame(ui_frame);
        ASSERT_NE(view.knock_out.last, nullptr);
        ASSERT_EQ(view.knock_out.last->parts.size(), static_cast<std::size_t>(layers * count));
        const auto map = std::find_if(canvas.calls.begin(), canvas.calls.end(), [&, columns_of = count](const NullCanvas::Call& call) {
            return call.request.data.cols == columns_of && call.request.data.rows == layers && call.max.x - call.min.x > 100;
        });
        ASSERT_NE(map, canvas.calls.end()) << static_cast<int>(parts);
        // The last part stands in the last cell, and a click leads to it.
        const PartWorth last = view.knock_out.last->parts.back();
        click(map->max.x - 4, map->max.y - 4, ui_frame);
        frames(2, ui_frame);
        ASSERT_EQ(view.view, View::Step);
        EXPECT_EQ(view.stage, parts == ReplacedParts::Heads ? weights_of(last.stage) : last.stage);
        EXPECT_TRUE(parts != ReplacedParts::Heads || view.head == last.index);
        EXPECT_TRUE(!at_positions(parts) || view.locked.on(Axis::T) == last.index);
    }
    with_context([&](PanelContext& context) {
        EXPECT_EQ(replaceable_parts(context.structure(), true), offered);
        EXPECT_EQ(replaceable_parts(context.structure(), false), (std::vector<ReplacedParts>{ReplacedParts::Heads, ReplacedParts::Blocks}));
    });
}

/// The text that was added is shown, so that typing changes it and not the one it was copied from.
TEST_F(CountedTest, TextsAreAddedAndRemoved) {
    open_example("gpt-tiny");
    session->apply({command::SetTexts{{"the cat sat", "the dog sat"}, {}}, ""});
    session->wait();
    frames(2, ui_frame);
    const auto settle = [&] {
        frames(2, ui_frame);
        session->wait();
        frames(3, ui_frame);
    };
    with_context([](PanelContext& context) { add_text(context, 0); });
    settle();
    EXPECT_EQ(session->document().texts, (std::vector<std::string>{"the cat sat", "the dog sat", "the cat sat"}));
    EXPECT_EQ(view.batch, 2);
    ForwardSettings forward = session->document().forward;
    forward.edits = {{.kind = EditKind::TakeRow, .at = {Stage::Q, 0}, .sequence = 1, .row = 1, .from = 1, .from_sequence = 2},
                     {.kind = EditKind::Set, .at = {Stage::Q, 0}, .sequence = 0, .row = 1, .column = 0, .value = 2}};
    session->apply({command::SetForward{forward}, ""});
    view.knock_out.from = 2;
    view.compare.batch = 0;
    settle();
    with_context([](PanelContext& context) { remove_text(context, 0); });
    settle();
    EXPECT_EQ(session->document().texts, (std::vector<std::string>{"the dog sat", "the cat sat"}));
    ASSERT_EQ(session->document().forward.edits.size(), 1U);
    EXPECT_EQ(session->document().forward.edits[0].sequence, 0);
    EXPECT_EQ(session->document().forward.edits[0].from_sequence, 1);
    EXPECT_EQ(view.knock_out.from, 1);
    EXPECT_EQ(view.compare.batch, std::nullopt);
    EXPECT_EQ(view.batch, 0);
    session->apply({command::Undo{}, ""});
    EXPECT_EQ(session->document().texts.size(), 3U);
    EXPECT_EQ(session->document().forward, forward) << "one step back";
}

/// A position that was opened is not asked about after going back.
TEST_F(CountedTest, OpeningAPositionLeavesTheQuestion) {
    open_two_texts("the cat sat", "the dog sat");
    view.knock_out.measure = AnswerMeasure::Probability;
    view.knock_out.from = 1;
    view.locked.set(Axis::T, 2);
    view.knock_out.parts = ReplacedParts::Positions;
    frames(3, ui_frame);
    session->wait();
    canvas.calls.clear();
    frame(ui_frame);
    const auto map = std::find_if(canvas.calls.begin(), canvas.calls.end(), [&](const NullCanvas::Call& call) {
        return call.request.data.cols == 3 && call.request.data.rows == trace().config.num_layers && call.max.x - call.min.x > 100;
    });
    ASSERT_NE(map, canvas.calls.end());
    const ImVec2 second{map->min.x + (map->max.x - map->min.x) / 2, map->min.y + 4};
    click(second.x, second.y, ui_frame);
    frames(2, ui_frame);
    ASSERT_EQ(view.view, View::Step);
    EXPECT_EQ(view.stage.stage, Stage::Embedding);
    EXPECT_EQ(view.locked.on(Axis::T), 1) << "the position that was clicked";
    view.view = View::KnockOut;
    frames(3, ui_frame);
    EXPECT_EQ(view.locked.on(Axis::T), 2);
    view.knock_out.opened = {1, 2};
    view.locked.set(Axis::T, 0);
    frames(3, ui_frame);
    EXPECT_EQ(view.locked.on(Axis::T), 0) << "selected meanwhile";
}

/// Under every measure, the warm end of the colours is for what helps: a positive number in the map's request.
TEST_F(CountedTest, OrangeMeansThatAPartHelps) {
    open_example("gpt-tiny");
    view.view = View::KnockOut;
    for (const AnswerMeasure measure : {AnswerMeasure::Loss, AnswerMeasure::Probability, AnswerMeasure::LogitDifference}) {
        view.knock_out.measure = measure;
        const auto result = get(facet::KnockOut{question()});
        const std::int64_t columns = result->grid.columns;
        canvas.calls.clear();
        frame(ui_frame);
        const auto map = std::find_if(canvas.calls.begin(), canvas.calls.end(), [&](const NullCanvas::Call& call) {
            return call.request.data.cols == columns && call.request.data.rows == result->grid.rows && call.max.x - call.min.x > 100;
        });
        ASSERT_NE(map, canvas.calls.end());
        for (const PartWorth& part : result->parts) {
            const double helps = measure == AnswerMeasure::Loss ? result->change(part) : -result->change(part);
            EXPECT_FLOAT_EQ(map->request.data.at(part.row, part.column), static_cast<float>(helps)) << static_cast<int>(measure);
        }
    }
}

/// Of a trained model, with the numbers of a knock-out; nothing is claimed of random weights.
TEST_F(CountedTest, TheInspectorSaysWhatTheAnswerIsWithoutTheHead) {
    open_example("stories");
    view.stage = {Stage::Weights, 2};
    view.head = 3;
    view.locked.clear();
    view.locked.set(Axis::T, 16);
    view.locked.set(Axis::S, 6);
    frames(4, ui_frame);
    const auto has_row = [&](std::string_view words) {
        frames(2, ui_frame);
        const auto& stops = view.focus.stops();
        return std::any_of(stops.begin(), stops.end(), [&](const FocusStop& stop) { return stop.words.find(words) != std::string::npos; });
    };
    const auto words = get(facet::NextWords{0, {}, 16});
    const KnockOutQuestion question{.place = KnockOutQuestion::Place{0, 16, words->likeliest.front().id}};
    const auto result = get(facet::KnockOut{question});
    const auto most = std::min_element(result->parts.begin(), result->parts.end(),
                                       [](const PartWorth& a, const PartWorth& b) { return a.without < b.without; });
    EXPECT_TRUE(has_row("“" + words->likeliest.front().text + "”"));
    const bool own = most->stage.layer == 2 && most->index == 3;
    EXPECT_EQ(has_row("missed most: L" + std::to_string(most->stage.layer) + " H" + std::to_string(most->index)), !own);
    open_example("gpt-tiny");
    view.stage = {Stage::Weights, 0};
    view.head = 0;
    EXPECT_FALSE(has_row("missed most"));
}

/// From the cell's pane: the question is about the next word, and the head that was looked at is the one that is framed.
TEST_F(CountedTest, LeaveItOutAsksForTheNextWordWithoutThisHead) {
    open_example("stories");
    frames(4, ui_frame);
    const std::int64_t head = view.head;
    ASSERT_TRUE(press_control("Leave it out"));
    EXPECT_EQ(view.view, View::KnockOut);
    EXPECT_EQ(question().measure(), AnswerMeasure::Probability);
    EXPECT_EQ(question().parts, ReplacedParts::Heads);
    EXPECT_EQ(view.head, head);
    press(Key::Right, ui_frame);
    EXPECT_EQ(view.head, head + 1);
    press(Key::Left, ui_frame);
    EXPECT_EQ(view.head, head);
}

}  // namespace
}  // namespace attn::app::test
