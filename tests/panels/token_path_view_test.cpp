/// The tokens stage of a published model: tokenization steps, with words and steps to select.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <vector>

#include "app/panels/files/files.hpp"
#include "app/panels/kit/model_blocks.hpp"
#include "app/panels/kit/stage_words.hpp"
#include "app/panels/views/token_path_view.hpp"
#include "app/panels/views/token_piece.hpp"
#include "app/session/document/model_document.hpp"
#include "app/session/session.hpp"
#include "app/session/states/opened_model.hpp"
#include "app/session/values/near_tokens.hpp"
#include "app/session/values/other_tokens.hpp"
#include "app/session/values/token_path.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app::test {
namespace {

const std::filesystem::path kModels = std::filesystem::path(ATTN_TEST_DATA) / "golden/hf";

/// The table of tokens scrolls to a token that is selected elsewhere.
class TokenTableTest : public InterfaceFixture {
protected:
    TokenTableTest() {
        open_example("stories");
        ImGui::GetIO().DisplaySize = ImVec2(1280, 600);
        view.stage = {Stage::Tokens};
        view.view = View::Step;
        frames(3, ui_frame);
    }
    void select(std::int64_t token) {
        view.locked.set(Axis::T, token);
        frames(3, ui_frame);
    }
};

TEST_F(TokenTableTest, ScrollsToTheSelectedToken) {
    const ImGuiWindow* table = find_window("##tokens");
    ASSERT_NE(table, nullptr);
    ASSERT_GT(table->ScrollMax.y, 0) << "17 tokens in two columns of 7";
    select(1);
    EXPECT_EQ(table->Scroll.y, 0);
    select(8);
    EXPECT_GT(table->Scroll.y, 0) << "the last row of the first column";
    wheel(100, ui_frame);
    frames(2, ui_frame);
    const float before = table->Scroll.y;
    frames(3, ui_frame);
    EXPECT_EQ(table->Scroll.y, before) << "it only follows what has just been selected";
}

TEST_F(TokenTableTest, AClickedTokenStaysWhereItIs) {
    const ImGuiWindow* table = find_window("##tokens");
    ASSERT_NE(table, nullptr);
    wheel(-1, ui_frame);
    frames(4, ui_frame);
    const float before = table->Scroll.y;
    click(table->Pos.x + 100, table->Pos.y + table->Size.y - 4, ui_frame);  // cut off at the lower edge
    frames(3, ui_frame);
    EXPECT_GT(view.locked.on(Axis::T).value_or(0), 5);
    EXPECT_EQ(table->Scroll.y, before);
}

class TokenPathView : public InterfaceFixture {
protected:
    void open(const std::string& text) { open_folder(kModels / "gpt2", text); }
    void open_folder(const std::filesystem::path& folder, const std::string& text) {
        Document document = document_of_model(OpenedModel::open(folder));
        document.texts = {text};
        session = std::make_unique<Session>(document, [] {});
        session->wait();
        view.stage = {Stage::Tokens};
        view.view = View::Step;
        frames(3, ui_frame);
    }
    const TokenPath::Word& choose_longest_word() {
        const auto& words = view.token_path.last->words;
        const auto longest =
            std::max_element(words.begin(), words.end(), [](const auto& a, const auto& b) { return a.steps.size() < b.steps.size(); });
        EXPECT_GT(longest->steps.size(), 2U);
        view.token_path.word = static_cast<std::size_t>(longest - words.begin());
        frames(3, ui_frame);
        return *longest;
    }
    void click_ends_of_slider() {
        const ImGuiWindow* slider = find_window("##step_number");
        ASSERT_NE(slider, nullptr);
        const ImRect area = slider->Rect();
        for (const float x : {area.Min.x + 2, area.Max.x - 2}) {
            click(x, area.Min.y + 29, ui_frame);  // below the number: the track
            at_its_ends.push_back(view.token_path.step);
        }
        EXPECT_EQ(find_window("##step_number")->Rect().Min.y, area.Min.y) << "it stays in place, whatever the steps have to say";
    }
    std::vector<std::optional<std::size_t>> at_its_ends;

    /// Clicks across a child window until `done`; false if nothing there has the effect.
    bool click_until(std::string_view window, const std::function<bool()>& done) {
        const ImGuiWindow* found = find_window(window);
        if (found == nullptr) return false;
        const ImRect area = found->Rect();
        for (float y = area.Min.y + 6; y < area.Max.y && !done(); y += 12)
            for (float x = area.Min.x + 6; x < area.Max.x && !done(); x += 16) click(x, y, ui_frame);
        return done();
    }
};

TEST_F(TokenPathView, WordsAndStepsCanBeChosen) {
    open("the weights of the reading are small");
    ASSERT_NE(view.token_path.last, nullptr);
    EXPECT_FALSE(view.token_path.word) << "none was chosen yet";
    EXPECT_TRUE(click_until("##path_stages", [&] { return view.token_path.word.has_value(); }));
    EXPECT_FALSE(view.token_path.step);
    EXPECT_TRUE(click_until("##path_steps", [&] { return view.token_path.step.has_value(); }));
    EXPECT_EQ(*view.token_path.step, 0U) << "the first row stands first";
    // Another text resets the selection.
    Document other = session->document();
    session->apply({command::SetTexts{{"a cat"}, {}}, ""});
    frames(3, ui_frame);
    EXPECT_FALSE(view.token_path.word);
    EXPECT_FALSE(view.token_path.step);
}

TEST_F(TokenPathView, TheSliderChoosesAStep) {
    open("the weights of the reading are small");
    const TokenPath::Word& word = choose_longest_word();
    ASSERT_LT(word.steps.front().made, 0) << "numbered from 0: first comes the word before any step";
    click_ends_of_slider();
    EXPECT_EQ(at_its_ends, (std::vector<std::optional<std::size_t>>{0, word.steps.size() - 1}));
}

TEST_F(TokenPathView, TheSliderChoosesAStepOfThoseThatAreNumberedFromOne) {
    const attn::test::TemporaryFolder folder;
    for (const char* name : {"config.json", "model.safetensors"}) std::filesystem::copy(kModels / "llama_tied" / name, folder.path());
    std::filesystem::copy(kModels / "tokenizers/bert_cased/tokenizer.json", folder.path());
    open_folder(folder.path(), "the weights of the reading");
    const TokenPath::Word& word = choose_longest_word();
    ASSERT_GE(word.steps.front().made, 0) << "numbered from 1: every look-up gives a piece";
    click_ends_of_slider();
    EXPECT_EQ(at_its_ends, (std::vector<std::optional<std::size_t>>{0, word.steps.size() - 1}));
}

TEST_F(TokenPathView, TheSettingsTellOfTheTokenizer) {
    open("the weights");
    const auto hover = [&](float x, float y) {
        move_mouse(x, y);
        frame(ui_frame);
    };
    const auto has = [&](const char* label) { return find_item("##sections", {label, "row"}, hover, 60, 9).has_value(); };
    EXPECT_TRUE(has("pieces"));
    EXPECT_TRUE(has("merges"));
    ImGui::GetIO().DisplaySize = {1600, 1800};  // else it must be scrolled to
    view.stage = {Stage::Weights, 0};
    frames(3, ui_frame);
    EXPECT_FALSE(has("pieces")) << "where the tokenizer is not the subject, it is among all settings";
    view.panes.left_open = true;
    frames(3, ui_frame);
    const auto has_all = [&](const char* label) { return find_item("##all_sections", {label, "row"}, hover, 60, 9).has_value(); };
    EXPECT_TRUE(has_all("pieces"));
    view.settings.folded.insert("tokenizer aside");
    frames(3, ui_frame);
    EXPECT_FALSE(has_all("pieces"));
    view.panes.left_open = false;
    open_example("stories");
    frames(3, ui_frame);
    view.stage = {Stage::Tokens};
    frames(3, ui_frame);
    EXPECT_FALSE(has("pieces")) << "words are found in one step";
}

/// A click on the chosen first station goes from the pieces through the text's stages and the steps of a word, and so do keys.
TEST_F(TokenPathView, TheFirstStationGoesThroughTheStagesOfTheText) {
    open("the weights of the reading are small");
    const std::size_t rows = view.token_path.last->rows.size();
    const ImRect strip = find_window("##strip")->Rect();
    view.token_path.table = true;
    std::vector<std::optional<std::size_t>> picked;
    for (std::size_t i = 0; i < rows + 2; ++i) {
        click(strip.Min.x + 212 + 14 + 30, strip.Max.y - 60, ui_frame);
        frames(2, ui_frame);
        ASSERT_EQ(view.stage.stage, Stage::Tokens);
        picked.push_back(view.token_path.stage);
    }
    std::vector<std::optional<std::size_t>> expected;
    for (std::size_t i = 0; i <= rows; ++i) expected.emplace_back(i);
    expected.emplace_back(std::nullopt);
    EXPECT_EQ(picked, expected);
    EXPECT_FALSE(view.token_path.table) << "the table has no stages";
    // Control and arrows go the same way, and back.
    const auto key = [&](Key pressed) {
        hold_modifiers(true, false);
        press(pressed, ui_frame);
        hold_modifiers(false, false);
        frames(2, ui_frame);
        return view.stage.stage == Stage::Tokens ? view.token_path.stage : std::optional<std::size_t>(99);
    };
    view.stage = {Stage::TokenEmbedding};
    view.token_path.stage.reset();
    frames(2, ui_frame);
    EXPECT_EQ(key(Key::Left), std::nullopt);
    for (std::size_t i = rows + 1; i-- > 0;) EXPECT_EQ(key(Key::Left), i);
    EXPECT_EQ(key(Key::Left), 0U) << "nothing comes before the text";
    for (std::size_t i = 1; i <= rows; ++i) EXPECT_EQ(key(Key::Right), i);
    EXPECT_EQ(key(Key::Right), std::nullopt);
    EXPECT_EQ(key(Key::Right), 99U);
    EXPECT_EQ(view.stage.stage, Stage::TokenEmbedding);
    // A model whose words are its tokens has no such stages.
    open_example("gpt-tiny");
    view.stage = {Stage::Tokens};
    view.token_path.stage.reset();
    frames(3, ui_frame);
    click(strip.Min.x + 212 + 14 + 30, strip.Max.y - 60, ui_frame);
    EXPECT_EQ(view.stage.stage, Stage::Tokens);
    EXPECT_FALSE(view.token_path.stage);
}

TEST_F(TokenPathView, ALowWindowShowsThePickedStageAndLeavesRoomForTheSteps) {
    open("the weights of the reading are small");
    using Places = std::vector<std::size_t>;
    const auto shown = [&](ImVec2 size, std::optional<std::size_t> picked) {
        ImGui::GetIO().DisplaySize = size;
        view.token_path.stage = picked;
        frames(3, ui_frame);
        return view.token_path.measured.stages;
    };
    ASSERT_EQ(view.token_path.last->rows.size(), 3U);
    EXPECT_EQ(shown({1280, 720}, {}), (Places{0, 1, 2}));
    put_tokenizer_beside(view, (kModels / "tokenizers/bert_uncased").string());
    EXPECT_EQ(shown({1600, 1000}, {}), (Places{0, 1, 2}));
    EXPECT_EQ(shown({1280, 560}, {}), Places{0});
    EXPECT_EQ(shown({1280, 560}, 1), (Places{0, 1}));
    EXPECT_EQ(shown({1280, 560}, 3), Places{0}) << "the steps stand below anyway";
}

/// GPT-2 reads pieces, and our stories are split into words.
TEST_F(TokenPathView, TokensAreCalledWhatTheyAre) {
    open("the weights");
    EXPECT_EQ(token_noun(*session->snapshot()), "piece");
    open_example("stories");
    EXPECT_EQ(token_noun(*session->snapshot()), "word");
    EXPECT_EQ(stage_title({Stage::Tokens}, "piece"), "Pieces");
    EXPECT_EQ(stage_title({Stage::TokenEmbedding}, "character"), "Character vectors");
    EXPECT_EQ(stage_title({Stage::Probabilities}, "piece"), "Likely pieces");
    const std::vector<ModelBlock> blocks = model_blocks(*session->snapshot()->trace->plan);
    EXPECT_EQ(block_title(*session->snapshot()->trace, blocks.front(), "piece"), "pieces in");
    EXPECT_EQ(block_title(*session->snapshot()->trace, blocks.back(), "piece"), "next piece");
}

TEST_F(TokenPathView, TheStepLookedAtIsScrolledTo) {
    open("a of incomprehensibilities, uncharacteristically");
    ASSERT_NE(view.token_path.last, nullptr);
    const auto& words = view.token_path.last->words;
    const auto longest =
        std::max_element(words.begin(), words.end(), [](const auto& a, const auto& b) { return a.steps.size() < b.steps.size(); });
    const std::size_t last = longest->steps.size() - 1;
    constexpr float kLine = 25;
    view.token_path.word = static_cast<std::size_t>(longest - words.begin());
    ImGui::GetIO().DisplaySize = {1280, 620};
    const auto scrolled_to = [&](std::size_t step) {
        view.token_path.step = step;
        frames(3, ui_frame);
        const ImGuiWindow* rows = find_window("##path_steps");
        EXPECT_NE(rows, nullptr);
        if (rows == nullptr) return false;
        const float top = kLine * static_cast<float>(step);
        return rows->Scroll.y <= top && top + kLine <= rows->Scroll.y + rows->Size.y + 1;
    };
    EXPECT_TRUE(scrolled_to(0));
    EXPECT_TRUE(scrolled_to(last));
    EXPECT_GT(find_window("##path_steps")->Scroll.y, 0) << "this window is too low for all of them";
    EXPECT_TRUE(scrolled_to(0));
    // Whole rows fit, and the scrollbar stands at the panel's edge.
    const ImGuiWindow *rows = find_window("##path_steps"), *centre = find_window("##centre");
    ASSERT_TRUE(rows != nullptr && centre != nullptr);
    const float high = rows->InnerClipRect.GetHeight();
    EXPECT_NEAR(high, std::round(high / kLine) * kLine, 1);
    EXPECT_TRUE(rows->ScrollbarY);
    EXPECT_LT(centre->Rect().Max.x - rows->Rect().Max.x, 16);
    EXPECT_LE(rows->Rect().Max.y, centre->Rect().Max.y);
}

TEST_F(TokenPathView, AChosenPieceShowsItsWord) {
    open("the weights of the reading are small");
    EXPECT_TRUE(click_until("##path_stages", [&] { return view.locked.on(Axis::T).has_value(); }));
    const auto t = static_cast<std::size_t>(*view.locked.on(Axis::T));
    ASSERT_TRUE(view.token_path.word);
    EXPECT_EQ(static_cast<std::int32_t>(*view.token_path.word), view.token_path.last->pieces.at(t).word);
}

TEST_F(TokenPathView, TheRightPaneTellsOfThePieceAndCopiesTheIds) {
    open("the weights \U0001F98A");
    const auto& pieces = view.token_path.last->pieces;
    const auto merged =
        std::find_if(pieces.begin(), pieces.end(), [](const auto& piece) { return piece.bytes.size() > 1 && !piece.merges.empty(); });
    ASSERT_NE(merged, pieces.end());
    const auto place = static_cast<std::size_t>(merged - pieces.begin());
    view.locked.set(Axis::T, static_cast<std::int64_t>(place));
    frames(3, ui_frame);
    with_context([&](PanelContext& context) {
        const auto chosen = chosen_piece(context);
        ASSERT_TRUE(chosen);
        EXPECT_EQ(chosen->place, place);
        EXPECT_FALSE(chosen->of_other);
    });
    const auto hover = [&](float x, float y) {
        move_mouse(x, y);
        frame(ui_frame);
    };
    const auto has_fact = [&](const char* label) { return find_item("##cell", {label, "row"}, hover, 60, 9).has_value(); };
    EXPECT_TRUE(has_fact("made by merge"));
    EXPECT_TRUE(has_fact("bytes"));
    EXPECT_TRUE(has_fact("characters"));
    EXPECT_FALSE(has_fact("score")) << "merges have ranks";
    // The last piece is part of the fox.
    view.locked.set(Axis::T, static_cast<std::int64_t>(pieces.size()) - 1);
    EXPECT_TRUE(has_fact("part of"));
    const auto button = find_item("##cell", {"Copy the ids"}, hover);
    ASSERT_TRUE(button);
    ImGui::SetClipboardText("");
    click(button->x, button->y, ui_frame);
    std::string expected;
    for (const Token& token : session->snapshot()->tokens.at(0)) expected += (expected.empty() ? "" : ", ") + std::to_string(token.id);
    EXPECT_EQ(std::string(ImGui::GetClipboardText()), expected);
}

TEST_F(TokenPathView, TheRightPaneListsTheNearestPieces) {
    open("the weights");
    view.locked.set(Axis::T, 0);
    frames(2, ui_frame);
    session->wait();
    frames(2, ui_frame);
    const std::int32_t id = session->snapshot()->tokens.at(0).at(0).id;
    const auto near = session->get(facet::NearTokens{Stack::Main, id});
    ASSERT_EQ(near->nearest.size(), kMostNearTokens);
    const Tensor<float>& vectors = session->snapshot()->trace->find({Stage::TokenEmbedding, -1})->value;
    const MatrixView table = session->snapshot()->trace->parameters->view("token_embedding.weight");
    for (const NearToken& one : near->nearest) {
        double dot = 0, own = 0, other = 0;
        for (std::int64_t c = 0; c < table.columns; ++c) {
            const double a = static_cast<double>(vectors(0, 0, c)), b = table.at(one.id, c);
            dot += a * b, own += a * a, other += b * b;
        }
        EXPECT_NEAR(one.cosine, dot / std::sqrt(own * other), 1e-6);
        EXPECT_EQ(one.text, session->snapshot()->vocabulary.at(static_cast<std::size_t>(one.id)));
        EXPECT_NE(one.id, id);
    }
    const auto hover = [&](float x, float y) {
        move_mouse(x, y);
        frame(ui_frame);
    };
    EXPECT_TRUE(find_item("##cell", {"##nearest"}, hover, 60, 9).has_value());
    EXPECT_TRUE(session->compute(facet::NearTokens{Stack::Main, -1}).problem != "") << "there is no such id";
}

/// A space that was never typed stands at the first letter of its word, but is no part of it.
TEST_F(TokenPathView, ASpaceBeforeAWordIsNoHalfCharacter) {
    const std::filesystem::path golden = std::filesystem::path(ATTN_TEST_DATA) / "golden/hf";
    const TemporaryFolder folder;
    for (const auto& entry : std::filesystem::directory_iterator(golden / "llama")) std::filesystem::copy(entry.path(), folder.path());
    std::filesystem::copy(golden / "tokenizers/t5/tokenizer.json", folder.path());
    Document document = document_of_model(OpenedModel::open(folder.path()));
    document.texts = {"Zo Zo"};
    session = std::make_unique<Session>(document, [] {});
    session->wait();
    view.stage = {Stage::Tokens};
    view.view = View::Step;
    frames(3, ui_frame);
    ASSERT_NE(view.token_path.last, nullptr);
    const auto& pieces = view.token_path.last->pieces;
    const auto space = std::find_if(pieces.begin(), pieces.end(), [](const auto& piece) { return piece.bytes == " "; });
    ASSERT_TRUE(space != pieces.end() && space->typed == "Z") << "the text is chosen for that";
    const auto hover = [&](float x, float y) {
        move_mouse(x, y);
        frame(ui_frame);
    };
    const auto has_fact = [&](const char* label) { return find_item("##cell", {label, "row"}, hover, 60, 9).has_value(); };
    view.locked.set(Axis::T, space - pieces.begin());
    EXPECT_TRUE(has_fact("not typed, before"));
    EXPECT_TRUE(has_fact("score"));
    EXPECT_FALSE(has_fact("characters"));
    view.locked.set(Axis::T, space - pieces.begin() + 1);
    EXPECT_FALSE(has_fact("part of"));
    EXPECT_TRUE(has_fact("characters"));
}

TEST_F(TokenPathView, BytesAreWrittenTheSameWayEverywhere) {
    EXPECT_EQ(piece_text("\xD8"), "D8");
    EXPECT_EQ(piece_text(" \xF0\x9F"), "\u2423 F0 9F");
    EXPECT_EQ(piece_text("\xD8", "\xA7"), "D8 + A7");
    EXPECT_EQ(piece_text("a", " b"), "a + \u2423b") << "a space at the edge of a part is visible";
    EXPECT_EQ(piece_text("i", "ly"), "i + ly");
}

TEST_F(TokenPathView, LongAndOddTextsAreDrawn) {
    std::string many;
    for (int i = 0; i < 30; ++i) many += "a ";
    for (const std::string& text : {std::string("a"), std::string(" "), many, std::string("\xFF\xFE"), std::string("<|endoftext|>"),
                                    std::string("\U0001F98A\U0001F98A na\u00EFve")}) {
        open(text);
        ASSERT_NE(view.token_path.last, nullptr) << text;
        EXPECT_GT(vertices(), 1000);
        view.token_path.table = true;
        frames(2, ui_frame);
        view.token_path.table = false;
    }
    with_context([](PanelContext& context) { EXPECT_TRUE(has_token_path(context)); });
    open_example("gpt-tiny");
    view.stage = {Stage::Tokens};
    frames(3, ui_frame);
    with_context([](PanelContext& context) { EXPECT_FALSE(has_token_path(context)) << "its words are its tokens"; });
}

TEST_F(TokenPathView, ASecondTokenizerCutsTheTextBesideTheFirst) {
    open("the weights of the reading are small");
    const int alone = vertices();
    put_tokenizer_beside(view, (std::filesystem::path(ATTN_TEST_DATA) / "golden/hf/tokenizers/bert_uncased").string());
    frames(3, ui_frame);
    ASSERT_NE(view.token_path.last_other, nullptr);
    EXPECT_TRUE(view.token_path.last_other->difference);
    EXPECT_GT(vertices(), alone);
    EXPECT_FALSE(view.token_path.of_other);
    // A piece of the other tokenizer shows that tokenizer's steps.
    const ImGuiWindow* stages = find_window("##path_stages");
    ASSERT_NE(stages, nullptr);
    const ImRect area = stages->Rect();
    for (float y = area.Max.y - 26; y > area.Min.y && !view.token_path.of_other; y -= 10)
        for (float x = area.Min.x + 6; x < area.Max.x && !view.token_path.of_other; x += 16) click(x, y, ui_frame);
    EXPECT_TRUE(view.token_path.of_other);
    ASSERT_TRUE(view.token_path.word);
    EXPECT_LT(*view.token_path.word, view.token_path.last_other->path.words.size());
    EXPECT_FALSE(view.locked.on(Axis::T)) << "its pieces are no positions of the model";
    move_mouse(1, 1);
    frames(2, ui_frame);
    with_context([&](PanelContext& context) {
        const auto chosen = chosen_piece(context);
        ASSERT_TRUE(chosen);
        EXPECT_TRUE(chosen->of_other);
        EXPECT_EQ(view.token_path.last_other->path.pieces.at(chosen->place).word, static_cast<std::int32_t>(*view.token_path.word));
    });
    frames(2, ui_frame);
    // It follows the text.
    session->apply({command::SetTexts{{"unhappily"}, {}}, ""});
    frames(3, ui_frame);
    EXPECT_EQ(view.token_path.last_other->path.columns.size(), 9U);
    // In the cache, its name is that of the model, whatever was chosen of it.
    const TemporaryFolder folder;
    const std::filesystem::path entry = folder.path() / "models--me--tiny";
    std::filesystem::create_directories(entry / "snapshots");
    std::filesystem::copy(std::filesystem::path(ATTN_TEST_DATA) / "golden/hf/tokenizers/bert_uncased", entry / "snapshots/c0ffee");
    for (const auto& [path, name] : {std::pair{entry, "me/tiny"}, {entry / "snapshots/c0ffee/tokenizer.json", "me/tiny/tokenizer.json"}}) {
        put_tokenizer_beside(view, path.string());
        frames(3, ui_frame);
        ASSERT_NE(view.token_path.last_other, nullptr) << path;
        EXPECT_EQ(view.token_path.last_other->name, name);
    }
    // An unreadable file does not affect the model's own tokenizer.
    put_tokenizer_beside(view, "/nowhere/tokenizer.json");
    frames(3, ui_frame);
    EXPECT_EQ(view.token_path.last_other, nullptr);
    EXPECT_NE(view.token_path.last, nullptr);
}

}  // namespace
}  // namespace attn::app::test
