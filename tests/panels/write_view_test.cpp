/// The Write view: candidates, moments and branches with mouse and keyboard.

#include "app/panels/settings/setting_values.hpp"
#include "app/panels/write/write_view.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/compare/head_captions.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/views/knock_out_question.hpp"
#include "app/panels/write/fill_in_view.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/session/document/model_document.hpp"
#include "app/session/states/hidden_words.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/values/head_rows.hpp"
#include "app/session/values/next_words.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"
#include "engine/generate/generate.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app::test {
namespace {

class WriteViewTest : public InterfaceFixture {
protected:
    void open() {
        open_example("stories");
        view.view = View::Write;
        session->apply({command::SetSampling{{.temperature = 1, .top_k = 3, .tokens = 4, .seed = 2}}, ""});
        frames(2, ui_frame);
    }
    void write() {
        with_context(write_on);
        session->wait_for_writing();
        frames(2, ui_frame);
    }
    const Writing& writing() { return session->document().writing; }
    /// Clicks across a child window, from its top, until `done`.
    bool click_until(std::string_view window, const std::function<bool()>& done) {
        const ImGuiWindow* found = find_window(window);
        if (found == nullptr) return false;
        const ImRect area = found->Rect();
        for (float y = area.Min.y + 6; y < area.Max.y && !done(); y += 11)
            for (float x = area.Min.x + 8; x < area.Max.x && !done(); x += 17) click(x, y, ui_frame);
        return done();
    }
};

TEST_F(WriteViewTest, ACandidateIsABranch) {
    open();
    ASSERT_TRUE(click_until("##candidates", [&] { return writing().tokens.size() == 1; }));
    session->apply({command::ShowWritten{kPrompt}, ""});
    frames(2, ui_frame);
    const NextWords words = *get(facet::NextWords{0, session->document().sampling});
    EXPECT_EQ(writing().tokens[0].id, words.likeliest[0].id) << "the first row is the likeliest";
    EXPECT_NEAR(writing().tokens[0].predicted, words.likeliest[0].predicted, 1e-9);
    // An alternative that the sampler would never draw.
    const ImGuiWindow* window = find_window("##candidates");
    ASSERT_NE(window, nullptr);
    for (float y = window->Pos.y + 60; y < window->Pos.y + window->Size.y && writing().tokens.size() == 1; y += 11)
        click(window->Pos.x + 40, y + 60, ui_frame);
    ASSERT_EQ(writing().tokens.size(), 2U);
    EXPECT_EQ(branch_ends(writing()).size(), 2U);
}

TEST_F(WriteViewTest, MomentsAreGoneBackTo) {
    open();
    write();
    ASSERT_EQ(writing().tokens.size(), 4U);
    const std::size_t length = session->wait()->trace->tokens.ids.size();
    ASSERT_TRUE(click_until("##written", [&] { return writing().shown == kPrompt; })) << "the prompt stands first";
    EXPECT_EQ(session->wait()->trace->tokens.ids.size(), length - 4);
    ASSERT_TRUE(click_until("##written", [&] { return writing().shown == 1; }));
    EXPECT_EQ(session->wait()->trace->tokens.ids.size(), length - 2);
    EXPECT_EQ(writing().end, 3) << "what comes later stays in sight";
    EXPECT_EQ(view.locked.on(Axis::T), static_cast<std::int64_t>(length) - 3) << "its last token is the query of other views";
    frames(2, ui_frame);
    ASSERT_NE(view.head_rows.last, nullptr);
    EXPECT_EQ(view.head_rows.last->position, static_cast<std::int64_t>(length) - 3) << "the heads are those of this moment";
    const auto snapshot = session->wait();
    EXPECT_EQ(view.head_rows.word, visible_text(snapshot->tokens[0].back().text));
    ASSERT_EQ(view.head_rows.keys.size(), 1U);
    EXPECT_EQ(view.head_rows.keys[0].size(), length - 2);
    EXPECT_EQ(view.head_rows.keys[0].front(), visible_text(snapshot->tokens[0].front().text));
}

TEST_F(WriteViewTest, ArrowsMoveFromMomentToMoment) {
    open();
    write();
    const StageId stage = view.stage;
    const auto shown_after = [&](Key key) {
        press(key, ui_frame);
        frames(2, ui_frame);
        return writing().shown;
    };
    ASSERT_EQ(writing().shown, 3);
    EXPECT_EQ(shown_after(Key::Right), 3) << "nothing has been written after it";
    EXPECT_EQ(shown_after(Key::Left), 2);
    EXPECT_EQ(shown_after(Key::Left), 1);
    EXPECT_EQ(shown_after(Key::Right), 2);
    EXPECT_EQ(shown_after(Key::Home), kPrompt);
    EXPECT_EQ(shown_after(Key::Left), kPrompt);
    EXPECT_EQ(shown_after(Key::Right), 0);
    EXPECT_EQ(shown_after(Key::End), 3);
    EXPECT_EQ(view.stage, stage) << "the other views stay where they were";
    view.view = View::Step;
    press(Key::Left, ui_frame);
    EXPECT_NE(view.stage, stage);
}

TEST_F(WriteViewTest, BranchesAreLookedAtComparedAndGivenUp) {
    open();
    write();
    session->apply({command::ShowWritten{0}, ""});
    frames(2, ui_frame);
    const NextWords words = *get(facet::NextWords{0, session->document().sampling});
    const std::int32_t other = words.likeliest[0].id == writing().tokens[1].id ? words.likeliest[1].id : words.likeliest[0].id;
    session->apply({command::WriteToken{0, other, 0, 0}, ""});
    frames(2, ui_frame);
    ASSERT_EQ(branch_ends(writing()).size(), 2U);
    ASSERT_TRUE(click_until("##branches", [&] { return writing().end == 3; })) << "the first branch";
    EXPECT_EQ(writing().shown, 3);
    with_context([](PanelContext& context) { compare_with_branch(context, 4); });
    EXPECT_TRUE(session->document().pins.a);
    EXPECT_EQ(view.compare.source, Compare::Pinned);
    EXPECT_EQ(session->document().pins.a->setup->written.ids.size(), 2U) << "as far as that branch goes";
    const auto name_of_pinned = [&] {
        session->wait();
        std::string name;
        with_context([&](PanelContext& context) { name = reference_side(context, {Stage::Weights, 0}, 0).name; });
        return name;
    };
    const std::string word = shown_bytes(session->snapshot()->vocabulary[static_cast<std::size_t>(other)]);
    EXPECT_EQ(name_of_pinned(), "branch “" + word + "”") << "by the first token that only it has";
    const auto name_in_settings = [&] {
        std::string name;
        with_context([&](PanelContext& context) { name = compare_value(context); });
        return name;
    };
    EXPECT_EQ(name_in_settings(), "branch “" + word + "”");
    session->apply({command::SetTexts{{"Lily has a red ball ."}, {}}, ""});
    EXPECT_EQ(name_of_pinned(), "pinned A");
    EXPECT_EQ(name_in_settings(), "pinned A");
    session->apply({command::Undo{}, ""});
    session->wait();
    view.view = View::Write;
    view.stage = {Stage::Tokens};
    session->apply({command::ShowWritten{1}, ""});
    with_context([](PanelContext& context) { compare_with_branch(context, 4); });
    EXPECT_EQ(view.stage, (StageId{Stage::Weights, 0})) << "tokens of both have no difference";
    view.stage = {Stage::Probabilities};
    with_context([](PanelContext& context) { compare_with_branch(context, 4); });
    EXPECT_EQ(view.stage, (StageId{Stage::Probabilities}));
    view.stage = {Stage::Residual1, 0, Stack::Encoder};
    with_context([](PanelContext& context) { compare_with_branch(context, 4); });
    EXPECT_EQ(view.stage, (StageId{Stage::Weights, 0, Stack::Decoder}));
    view.stage = {Stage::Weights, 0};
    EXPECT_EQ(session->document().pins.a->setup->written.ids.size(), session->document().written.ids.size());
    with_context([](PanelContext& context) { context.commands.push_back({command::ForgetWritten{4}, ""}); });
    EXPECT_EQ(branch_ends(writing()).size(), 1U);
}

TEST_F(WriteViewTest, EscapeLeavesTheBranchesAsTheyWere) {
    open();
    write();
    session->apply({command::ShowWritten{0}, ""});
    session->apply({command::WriteToken{0, 7, 0.1, 0}, ""});
    frames(2, ui_frame);
    ASSERT_EQ(branch_ends(writing()).size(), 2U);
    const Document before = session->document();
    for (const bool cancelled : {true, false}) {
        type("t", ui_frame);
        frames(3, ui_frame);
        ASSERT_TRUE(view.text_row.edit.editing);
        type("x", ui_frame);
        frames(2, ui_frame);
        EXPECT_NE(whole_texts(session->document()), whole_texts(before));
        press(cancelled ? Key::Escape : Key::Enter, ui_frame);
        frames(2, ui_frame);
        EXPECT_FALSE(view.text_row.edit.editing);
        EXPECT_EQ(session->document() == before, cancelled);
    }
    EXPECT_TRUE(writing().tokens.empty());
}

TEST_F(WriteViewTest, TheKeyWritesAndTheViewSaysWhereItCannot) {
    open();
    with_context(toggle_writing);
    session->wait_for_writing();
    EXPECT_EQ(writing().tokens.size(), 4U);
    with_context(write_otherwise);
    session->wait_for_writing();
    EXPECT_EQ(session->document().sampling.seed, 3U);
    EXPECT_EQ(writing().tokens.size(), 8U);
    session->apply({command::Undo{}, ""});
    EXPECT_EQ(session->document().sampling.seed, 2U) << "the seed and the branch are one step";
    EXPECT_EQ(writing().tokens.size(), 4U);
    session->apply({command::Undo{}, ""});
    EXPECT_EQ(writing().tokens.size(), 0U);
    open_example("self-attention");
    view.view = View::Write;
    frames(3, ui_frame);
    EXPECT_EQ(find_window("##candidates"), nullptr);
    with_context([](PanelContext& context) { EXPECT_FALSE(can_write(context)); });
}

TEST_F(WriteViewTest, AFullContextIsNotWrittenOnAndSaysSo) {
    open();
    const std::int64_t most = session->snapshot()->trace->config.longest_text();
    const auto show = [&](std::int64_t words) {
        std::string text = "Lily";
        for (std::int64_t i = 1; i < words; ++i) text += " Lily";
        session->apply({command::SetTexts{{text}, {}}, ""});
        session->wait();
        frames(2, ui_frame);
        std::string why;
        with_context([&](PanelContext& context) { why = no_room_to_write(context); });
        return why;
    };
    EXPECT_EQ(show(most - 1), "");
    EXPECT_NE(show(most).find(std::to_string(most) + " tokens"), std::string::npos);
    type("y", ui_frame);
    frames(2, ui_frame);
    session->wait_for_writing();
    EXPECT_TRUE(writing().tokens.empty());
    EXPECT_EQ(show(most - 1), "");
    type("y", ui_frame);
    frames(2, ui_frame);
    session->wait_for_writing();
    EXPECT_EQ(writing().tokens.size(), 1U);
}

TEST_F(WriteViewTest, TheNewestTokenIsInSight) {
    ImGui::GetIO().DisplaySize = {1280, 560};
    open();
    session->apply({command::SetSampling{{.temperature = 1, .tokens = 20, .seed = 2}}, ""});
    for (int i = 0; i < 4; ++i) write();
    frames(2, ui_frame);
    const ImGuiWindow* chips = find_window("##written");
    ASSERT_NE(chips, nullptr);
    ASSERT_GT(chips->ScrollMax.y, 0) << "they do not fit";
    EXPECT_EQ(chips->Scroll.y, chips->ScrollMax.y);
}

TEST_F(WriteViewTest, TheShownTokenStaysInSightWhenItsLineMoves) {
    ImGui::GetIO().DisplaySize = {1900, 1000};
    open();
    session->apply({command::SetSampling{{.temperature = 1, .tokens = 20, .seed = 2}}, ""});
    for (int i = 0; i < 4; ++i) write();
    ImGui::GetIO().DisplaySize = {1280, 560};
    frames(4, ui_frame);
    const ImGuiWindow* chips = find_window("##written");
    ASSERT_NE(chips, nullptr);
    ASSERT_GT(chips->ScrollMax.y, 0) << "they do not fit";
    EXPECT_EQ(chips->Scroll.y, chips->ScrollMax.y);
}

TEST_F(WriteViewTest, FitsSmallWindows) {
    open();
    write();
    for (const ImVec2 size : {ImVec2{1280, 720}, ImVec2{900, 600}, ImVec2{640, 480}}) {
        ImGui::GetIO().DisplaySize = size;
        frames(3, ui_frame);
        const ImGuiWindow* candidates = find_window("##candidates");
        ASSERT_NE(candidates, nullptr);
        EXPECT_GE(candidates->Size.x, 200) << size.x;
        EXPECT_LE(candidates->Pos.y + candidates->Size.y, size.y);
    }
}

TEST_F(WriteViewTest, SaysHowUnlikelyAWordIs) {
    EXPECT_EQ(percent_words(0.0042), "0.4 %");
    EXPECT_EQ(percent_words(0.00042), "0.04 %");
    EXPECT_EQ(percent_words(0.00002), "<0.01 %");
    EXPECT_EQ(percent_words(0.42), "42 %");
    EXPECT_EQ(percent_words(0.9996), ">99 %");
    EXPECT_EQ(percent_words(1), "100 %");
    EXPECT_EQ(share_words(0.0423), "0.0423");
    EXPECT_EQ(share_words(7.58e-6), "7.58e−6");
    open();
    with_context([](PanelContext& context) {
        const ImFont* font = context.theme.fonts.mono_small;
        const HeadCaption caption{"entropy 1.23", 0};
        EXPECT_EQ(caption_that_fits(caption, font, text_width(font, caption.text)), "entropy 1.23");
        EXPECT_EQ(caption_that_fits(caption, font, text_width(font, caption.text) - 1), "1.23");
        const HeadCaption shorter{"entropy 1.23", 0, "ent 1.23"};
        EXPECT_EQ(caption_that_fits(shorter, font, text_width(font, shorter.text)), "entropy 1.23");
        EXPECT_EQ(caption_that_fits(shorter, font, text_width(font, shorter.text) - 1), "ent 1.23");
        EXPECT_EQ(caption_that_fits(shorter, font, text_width(font, shorter.brief) - 1), "1.23");
        EXPECT_EQ(caption_that_fits(caption, font, text_width(font, "1.2")), "") << "half a number says something else";
    });
}

TEST_F(WriteViewTest, SaysWhyTheSamplerCuts) {
    EXPECT_EQ(cut_name(Cut::TopK, {.top_k = 5}), "top-k 5");
    EXPECT_EQ(cut_name(Cut::MinP, {.min_p = 0.05}), "min-p 0.05");
    for (const Cut cut : {Cut::TopK, Cut::TopP, Cut::MinP, Cut::Temperature}) EXPECT_NE(cut_words(cut, {}), "");
    EXPECT_EQ(cut_words(Cut::None, {}), "");
}

class OpenedInWrite : public WriteViewTest {
protected:
    /// Without a tokenizer, the text is ids.
    void open_model(const char* model, const char* tokenizer, const std::string& text) {
        namespace fs = std::filesystem;
        const fs::path golden = fs::path(ATTN_TEST_DATA) / "golden/hf";
        for (const char* file : {"config.json", "model.safetensors"}) fs::copy_file(golden / model / file, folder_ / file);
        if (tokenizer != nullptr) fs::copy_file(golden / "tokenizers" / tokenizer / "tokenizer.json", folder_ / "tokenizer.json");
        open_example("stories");
        Document document = document_of_model(OpenedModel::open(folder_.path()));
        document.texts = {text};
        if (!document.source_texts.empty()) document.source_texts = {text};
        session->apply({command::OpenDocument{document, false}, ""});
        session->wait();
        view.view = View::Write;
        frames(3, ui_frame);
    }
    /// Clicks across the centre, from a height on, until `done`.
    bool click_centre_until(float from, const std::function<bool()>& done) {
        for (float y = from; y < ImGui::GetIO().DisplaySize.y - 260 && !done(); y += 14)
            for (float x = 290; x < ImGui::GetIO().DisplaySize.x - 380 && !done(); x += 24) click(x, y, ui_frame);
        return done();
    }

private:
    TemporaryFolder folder_;
};

TEST_F(OpenedInWrite, AnEncoderHidesAWordAndFillsItInByTwoClicks) {
    open_model("bert", "bert_uncased", "the cat sat on the mat");
    with_context([](PanelContext& context) {
        EXPECT_FALSE(can_write(context));
        EXPECT_TRUE(reads_both_ways(context));
        EXPECT_FALSE(hidden_position(context.snapshot, context.view));
    });
    const auto text = [&] { return session->document().texts[0]; };
    ASSERT_TRUE(click_centre_until(200, [&] { return text().find("[MASK]") != std::string::npos; }));
    frames(3, ui_frame);
    std::optional<std::int64_t> position;
    with_context([&](PanelContext& context) { position = hidden_position(context.snapshot, context.view); });
    ASSERT_TRUE(position);
    EXPECT_EQ(session->wait()->tokens[0][static_cast<std::size_t>(*position)].text, "[MASK]");
    ASSERT_NE(view.head_rows.last, nullptr);
    EXPECT_EQ(view.head_rows.last->position, *position) << "the right pane is about the hidden word";
    const NextWords words = *get(facet::NextWords{0, {}, position});
    ASSERT_TRUE(click_centre_until(300, [&] { return text().find("[MASK]") == std::string::npos; })) << "a proposal takes its place";
    EXPECT_EQ(text(), with_filled_in("[MASK] cat sat on the mat", "[MASK]", 0, words.likeliest.front().text))
        << "the first is the likeliest";
}

/// Without a tokenizer nothing says which id hides a word, so any can be asked about.
TEST_F(OpenedInWrite, AnEncoderWithoutATokenizerFillsInAnyIdByTwoClicks) {
    open_model("bert", nullptr, "5 3, 9 14");
    const auto text = [&] { return session->document().texts[0]; };
    ASSERT_TRUE(click_centre_until(200, [&] { return view.locked.on(Axis::T) == 2; }));
    frames(3, ui_frame);
    EXPECT_EQ(text(), "5 3, 9 14") << "nothing is hidden";
    with_context([](PanelContext& context) {
        EXPECT_EQ(hidden_position(context.snapshot, context.view), 2);
        const auto asked = asked_place(context.snapshot, context.view);
        ASSERT_TRUE(asked);
        EXPECT_EQ(asked->written, 9) << "what stands there is known";
    });
    ASSERT_NE(view.head_rows.last, nullptr);
    EXPECT_EQ(view.head_rows.last->position, 2);
    const std::string before[] = {"", "5 ", "5 3, ", "5 3, 9 "}, after[] = {" 3, 9 14", ", 9 14", " 14", ""};
    std::string likeliest[4];
    for (std::int64_t at = 0; at < 4; ++at) likeliest[at] = get(facet::NextWords{0, {}, at})->likeliest.front().text;
    ASSERT_TRUE(click_centre_until(300, [&] { return text() != "5 3, 9 14"; })) << "a proposal takes its place";
    const auto place = static_cast<std::size_t>(view.locked.on(Axis::T).value_or(0));
    EXPECT_EQ(text(), before[place] + likeliest[place] + after[place]);
    EXPECT_EQ(session->wait()->problem, "");
}

TEST_F(OpenedInWrite, AWordThatIsHiddenBecomesTheOneToFillIn) {
    open_model("bert", "bert_uncased", "the cat [MASK] on the mat");
    view.locked.set(Axis::T, 3);
    frames(2, ui_frame);
    const auto text = [&] { return session->document().texts[0]; };
    ASSERT_TRUE(click_centre_until(200, [&] { return text() == "[MASK] cat [MASK] on the mat"; })) << text();
    frames(3, ui_frame);
    with_context([&](PanelContext& context) { EXPECT_EQ(hidden_position(context.snapshot, context.view), 1); });
    EXPECT_EQ(view.locked.on(Axis::T), 1);
}

TEST_F(OpenedInWrite, AHiddenWordIsForgottenWithItsText) {
    open_model("bert", "bert_uncased", "the cat [MASK] on the mat");
    EXPECT_EQ(view.fill_in.words.text, "the cat [MASK] on the mat");
    view.fill_in.just_hidden = {"[MASK] cat [MASK] on the mat", 0};
    session->apply({command::SetTexts{{"[MASK] dog [MASK]"}, {}}, ""});
    session->wait();
    view.locked.set(Axis::T, 3);
    frames(3, ui_frame);
    EXPECT_FALSE(view.fill_in.just_hidden);
    EXPECT_EQ(view.locked.on(Axis::T), 3);
    EXPECT_EQ(view.fill_in.words.text, "[MASK] dog [MASK]") << "its words are found anew";
    EXPECT_EQ(view.fill_in.words.found, words_of("[MASK] dog [MASK]", "[MASK]", conventions_of(session->document()).specials));
}

/// Published vocabularies are often padded to a round number.
TEST_F(OpenedInWrite, AnIdThatTheTokenizerLacksIsNamedEverywhereButDecodesToNothing) {
    open_model("bloom", "gpt2", "the cat");
    const std::int32_t last = static_cast<std::int32_t>(trace().config.vocab_size) - 1;
    const std::string name = "#" + std::to_string(last);
    ASSERT_FALSE(session->document().model->text().pieces()->token_text(last));
    with_context([&](PanelContext& context) {
        EXPECT_EQ(index_label(context, context.structure().plan->logits(), Axis::V, last), name);
        EXPECT_EQ(index_label(context, context.structure().plan->logits(), Axis::V, 5).find('#'), std::string::npos) << "which has a text";
    });
    const std::size_t typed = session->snapshot()->tokens[0].size();
    session->apply({command::WriteToken{0, last, 0.1, 0.1}, ""});
    const auto snapshot = session->wait();
    ASSERT_EQ(snapshot->tokens[0].size(), typed + 1);
    EXPECT_EQ(chip_text(snapshot->tokens[0].back()), name);
    EXPECT_EQ(whole_texts(session->document())[0], "the cat");
    with_context([&](PanelContext& context) {
        const StageId weights{Stage::Weights, 0};
        EXPECT_EQ(index_label(context, weights, Axis::T, static_cast<std::int64_t>(typed)), name);
    });
}

TEST_F(OpenedInWrite, ItsHiddenWordIsAskedAboutFirst) {
    open_model("bert", "bert_uncased", "the [MASK] sat on the mat");
    look_afresh(view, Look{});
    frames(2, ui_frame);
    EXPECT_EQ(session->snapshot()->tokens[0].at(static_cast<std::size_t>(view.locked.on(Axis::T).value_or(0))).text, "[MASK]");
}

TEST_F(OpenedInWrite, WhatFollowsTheTextIsAskedAboutFirst) {
    open_model("gpt2", "gpt2", "When Anna and Ben came home, Ben gave");
    const std::int64_t last = trace().tokens.lengths[0] - 1;
    ASSERT_GT(last, 6);
    look_afresh(view, Look{});
    frames(2, ui_frame);
    EXPECT_EQ(view.locked.on(Axis::T), last);
    EXPECT_EQ(view.locked.on(Axis::S), 2);
    Document saved = session->document();
    saved.look = Look{};
    session->apply({command::OpenDocument{saved, false}, ""});
    look_afresh(view, *saved.look);
    frames(2, ui_frame);
    EXPECT_EQ(view.locked.on(Axis::T), 6) << "a document stays as it is";
}

TEST_F(OpenedInWrite, AnEncoderDecoderAnswersItsSourceFromTheStart) {
    open_model("t5", "t5", "the cat sat");
    session->apply({command::SetSampling{{.temperature = 0, .tokens = 4}}, ""});
    with_context([](PanelContext& context) { EXPECT_TRUE(can_answer_from_start(context)); });
    const std::vector<std::string> before = session->document().texts;
    with_context(answer_from_start);
    session->wait_for_writing();
    EXPECT_EQ(session->document().texts, std::vector<std::string>{""});
    EXPECT_EQ(session->document().source_texts, std::vector<std::string>{"the cat sat"});
    const auto snapshot = session->wait();
    const auto& model = session->document().model;
    ASSERT_FALSE(writing().tokens.empty());
    EXPECT_EQ(snapshot->trace->tokens.ids.front(), model->text().conventions().decoder_start.value());
    EXPECT_EQ(snapshot->trace->tokens.ids.size(), 1 + writing().tokens.size());
    // The engine's result for the whole job.
    const auto expected = generate(*model->parameters(),
                                   {.text = std::vector<std::int32_t>{model->text().conventions().decoder_start.value()},
                                    .source = snapshot->trace->source_tokens.ids,
                                    .ends = model->text().conventions().ends},
                                   snapshot->trace->settings, {.temperature = 0, .tokens = 4});
    EXPECT_EQ(ids_to(writing(), writing().end), expected);
    frames(2, ui_frame);
    with_context([](PanelContext& context) { EXPECT_FALSE(can_answer_from_start(context)) << "it does already"; });
    session->apply({command::Undo{}, ""});
    EXPECT_EQ(session->document().texts, before) << "one step";
}

TEST_F(WriteViewTest, ReadsWholeCharactersWhereTokensHoldParts) {
    const auto pieces = [](const std::vector<std::string>& texts) {
        std::vector<Token> tokens;
        for (const std::string& text : texts) tokens.push_back({text, 0, false, false});
        return readable_pieces(tokens);
    };
    using Pieces = std::vector<std::string>;
    EXPECT_EQ(pieces({}), Pieces());
    EXPECT_EQ(pieces({"a", "\xC3", "\xA9", "b"}), (Pieces{"a", "\u00E9", "b"}));
    EXPECT_EQ(pieces({"x\xF0\x9F", "\x98", "\x80y"}).size(), 1U) << "three tokens, one character";
    EXPECT_EQ(pieces({"\xD1"}), Pieces{"D1"}) << "the rest may never come";
    EXPECT_EQ(pieces({"\x8F", "a"}), (Pieces{"8F", "a"})) << "nothing begins with it";
    EXPECT_EQ(pieces({"\xD1", "a"}), Pieces{"D1 a"}) << "what follows is no part of it";
    EXPECT_EQ(pieces({"\xFF", "a"}), (Pieces{"FF", "a"}));
}

}  // namespace
}  // namespace attn::app::test
