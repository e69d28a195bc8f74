/// Editing the text in its row.

#include <gtest/gtest.h>

#include <algorithm>

#include "app/panels/frame/text_row.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/values/next_words.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

class TextRow : public InterfaceFixture {
protected:
    TextRow() {
#if IMGUI_VERSION_NUM < 18700
        ImGui::GetIO().KeyMap[ImGuiKey_V] = 'V';
        ImGui::GetIO().KeyMap[ImGuiKey_A] = 'A';
#endif
        open_example("causal-attention");
        type("t", ui_frame);
        frames(3, ui_frame);
    }
    void paste(std::size_t bytes) {
        ImGui::SetClipboardText(std::string(bytes, 'x').c_str());
        hold_modifiers(true, false);
        press('V', ui_frame);
        hold_modifiers(false, false);
        frames(2, ui_frame);
    }
    std::size_t refusals() const {
        std::size_t count = 0;
        for (const Command& command : commands)
            if (const auto* told = std::get_if<command::TellFile>(&command.what)) count += told->failed ? 1 : 0;
        return count;
    }
};

TEST_F(TextRow, WhatIsTooLongIsNotPasted) {
    ASSERT_TRUE(view.text_row.edit.editing);
    const Document before = session->document();
    paste(900'000);
    EXPECT_EQ(refusals(), 1U);
    EXPECT_EQ(session->document(), before);
    EXPECT_EQ(view.text_row.edit.text, before.texts[0]);
    EXPECT_LT(vertices(), 200'000) << "letter by letter it would be laid out";
    paste(10);
    EXPECT_EQ(session->document().texts[0], before.texts[0] + std::string(10, 'x'));
    EXPECT_EQ(refusals(), 1U);
}

/// What the model says next depends on the last word: it stays chosen while a text is replaced, letter by letter.
TEST_F(TextRow, TheLastWordStaysChosenWhileTheTextIsTyped) {
    const std::int64_t last = session->snapshot()->trace->tokens.length - 1;
    view.locked.set(Axis::T, last);
    frames(2, ui_frame);
    for (std::size_t i = session->document().texts[0].size(); i > 0; --i) press(Key::Backspace, ui_frame);
    EXPECT_EQ(view.locked.on(Axis::T), 0) << "an empty text has one place, of padding";
    type("the cat sat on the mat", ui_frame);
    frames(3, ui_frame);
    ASSERT_EQ(session->document().texts[0], "the cat sat on the mat");
    EXPECT_EQ(view.locked.on(Axis::T), 5);
    view.locked.set(Axis::T, 2);
    frames(2, ui_frame);
    type(" and", ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(view.locked.on(Axis::T), 2) << "any other stays where it is";
}

/// What the person looked at: the key too, though the text is typed anew from its first letter.
TEST_F(TextRow, TheChosenPlaceComesBackOnceTheTextIsLongEnough) {
    press(Key::Escape, ui_frame);
    open_example("stories");
    view.locked.set(Axis::T, 3);
    view.locked.set(Axis::S, 2);
    type("t", ui_frame);
    frames(3, ui_frame);
    control('A');
    type("Tom", ui_frame);
    frames(3, ui_frame);
    ASSERT_EQ(session->document().texts[0], "Tom");
    EXPECT_EQ(view.locked.on(Axis::S), 0);
    type(" gives a red ball to", ui_frame);
    press(Key::Enter, ui_frame);
    frames(3, ui_frame);
    ASSERT_EQ(session->document().texts[0], "Tom gives a red ball to");
    EXPECT_EQ(view.locked.on(Axis::T), 3);
    EXPECT_EQ(view.locked.on(Axis::S), 2);
    type("t", ui_frame);
    frames(3, ui_frame);
    view.locked.set(Axis::S, 5);
    frames(2, ui_frame);
    control('A');
    type("Tom gives a", ui_frame);
    frames(3, ui_frame);
    ASSERT_EQ(session->document().texts[0], "Tom gives a");
    EXPECT_EQ(view.locked.on(Axis::S), 2) << "the last word, where the place is gone";
}

/// From the menu to typing without another click.
TEST_F(TextRow, AnAddedTextIsTypedIntoAtOnce) {
    press(Key::Escape, ui_frame);
    const std::vector<std::string> before = session->document().texts;
    const auto find = [&](const char* window, std::initializer_list<const char*> path) {
        const auto at = find_item(window, path, [&](float x, float y) {
            ImGui::GetIO().MousePos = {x, y};
            frames(1, ui_frame);
        });
        EXPECT_TRUE(at.has_value());
        return at.value_or(ImVec2());
    };
    const ImVec2 menu = find("##text", {"##sequences", "button"});
    click(menu.x, menu.y, ui_frame);
    frames(3, ui_frame);
    const ImVec2 add = find("##Popup", {"add a text", "item"});
    click(add.x, add.y, ui_frame);
    frames(4, ui_frame);
    ASSERT_TRUE(view.text_row.edit.editing);
    type(" Xx", ui_frame);
    frames(3, ui_frame);
    std::vector<std::string> after = before;
    after.push_back(before.front() + " Xx");
    EXPECT_EQ(session->document().texts, after) << "at its end, and the text it was copied from stays";
    press(Key::Escape, ui_frame);
    frames(3, ui_frame);
    after.back() = before.front();
    EXPECT_EQ(session->document().texts, after);
    EXPECT_FALSE(view.text_row.edit.editing);
}

/// Names and things that the model has never read, from the keyboard to the next word.
TEST_F(TextRow, AnySentenceCanBeTypedIntoTheStoriesModel) {
    press(Key::Escape, ui_frame);
    open_example("stories");
    type("t", ui_frame);
    frames(3, ui_frame);
    ASSERT_TRUE(view.text_row.edit.editing);
    for (std::size_t i = session->document().texts[0].size(); i > 0; --i) press(Key::Backspace, ui_frame);
    const std::string own = "Tom gives a red scooter to Sofia because she is sad. Who has the scooter?";
    for (std::size_t at = 0; at < own.size(); ++at) {
        type(own.substr(at, 1).c_str(), ui_frame);
        EXPECT_EQ(session->wait()->problem, "") << own.substr(0, at + 1);
    }
    press(Key::Enter, ui_frame);
    frames(4, ui_frame);
    EXPECT_EQ(session->document().texts[0], own);
    EXPECT_FALSE(view.drawn.problem);
    EXPECT_FALSE(view.drawn.unread_text);
    const std::vector<Token>& chips = session->snapshot()->tokens[0];
    EXPECT_EQ(std::count_if(chips.begin(), chips.end(), [](const Token& chip) { return chip.place > 0; }), 3);
    const auto next = get(facet::NextWords{0, {}});
    EXPECT_EQ(next->likeliest.front().text, "Sofia");
    EXPECT_GT(next->likeliest.front().predicted, 0.99);
    // Only new words have dashes.
    const auto dashed = [&](const std::string& text) {
        session->apply({command::SetTexts{{text}, {}}, ""});
        session->wait();
        view.locked.clear();
        move_mouse(2, 2);
        frames(4, ui_frame);
        const auto& drawn = find_window("##text")->DrawList->VtxBuffer;
        return std::count_if(drawn.begin(), drawn.end(), [&](const ImDrawVert& corner) { return corner.col == theme.colors.muted; });
    };
    EXPECT_GT(dashed("Sofia has the ball ."), dashed("Lily has the ball .") + 40);
}

/// The list of known words below the row, while one is typed.
class CompletionList : public InterfaceFixture {
protected:
    CompletionList() {
#if IMGUI_VERSION_NUM < 18700
        ImGui::GetIO().KeyMap[ImGuiKey_A] = 'A';
#endif
        open_example("stories");
    }
    /// Opens the editor with nothing but this in it.
    void write(const char* words) {
        type("t", ui_frame);
        frames(3, ui_frame);
        control('A');
        type(words, ui_frame);
        frames(3, ui_frame);
    }
    bool is_open() const { return find_window("##completions") != nullptr && view.text_row.edit.list.open; }
    std::string text() const { return session->document().texts[0]; }
    const std::vector<Completion>& listed() const { return view.text_row.completions.last->best; }
};

TEST_F(CompletionList, TabTakesTheFirst) {
    write("Tom gives a ");
    EXPECT_FALSE(is_open()) << "from the first letter of a word";
    const ImGuiWindow* const centre = find_window("##centre");
    const ImVec2 at = centre->Pos, size = centre->Size;
    type("r", ui_frame);
    frames(3, ui_frame);
    ASSERT_TRUE(is_open());
    EXPECT_EQ(listed().front().word, "red");
    EXPECT_LE(listed().size(), 5U);
    EXPECT_EQ(std::pair(centre->Pos.x, centre->Pos.y), std::pair(at.x, at.y)) << "nothing moves";
    EXPECT_EQ(centre->Size.y, size.y);
    press(Key::Tab, ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(text(), "Tom gives a red ") << "with the space after it";
    EXPECT_FALSE(is_open());
    ASSERT_TRUE(view.text_row.edit.editing);
    type("b", ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(text(), "Tom gives a red b") << "one types on";
    EXPECT_TRUE(is_open());
    press(Key::Tab, ui_frame);
    frames(3, ui_frame);
    const std::string sentence = text();
    ASSERT_TRUE(sentence.ends_with(' '));
    type(".", ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(text(), sentence.substr(0, sentence.size() - 1) + ".") << "a full stop belongs to its word";
    type(" L", ui_frame);
    frames(3, ui_frame);
    EXPECT_TRUE(text().ends_with(". L")) << text();
}

TEST_F(CompletionList, EnterCommitsAndTakesOnlyWhatWasChosen) {
    write("Tom gives a r");
    ASSERT_TRUE(is_open());
    press(Key::Enter, ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(text(), "Tom gives a r");
    EXPECT_FALSE(view.text_row.edit.editing);
    write("Tom gives a b");
    ASSERT_TRUE(is_open());
    ASSERT_GT(listed().size(), 1U);
    const std::string second = listed()[1].word;
    press(Key::Down, ui_frame);
    press(Key::Down, ui_frame);
    frames(2, ui_frame);
    press(Key::Enter, ui_frame);
    frames(4, ui_frame);
    EXPECT_EQ(text(), "Tom gives a " + second + " ");
    EXPECT_TRUE(view.text_row.edit.editing) << "it took the word and went on";
    press(Key::Enter, ui_frame);
    frames(3, ui_frame);
    EXPECT_FALSE(view.text_row.edit.editing);
    EXPECT_EQ(text(), "Tom gives a " + second + " ");
}

TEST_F(CompletionList, EscapeClosesItAndASecondOneTheEditor) {
    const std::string before = text();
    write("Tom gives a r");
    ASSERT_TRUE(is_open());
    press(Key::Escape, ui_frame);
    frames(4, ui_frame);
    EXPECT_FALSE(is_open());
    ASSERT_TRUE(view.text_row.edit.editing);
    EXPECT_EQ(text(), "Tom gives a r");
    type("e", ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(text(), "Tom gives a re") << "the caret stays at the end";
    EXPECT_FALSE(is_open()) << "closed for this word";
    type(" b", ui_frame);
    frames(3, ui_frame);
    EXPECT_TRUE(is_open());
    press(Key::Escape, ui_frame);
    frames(4, ui_frame);
    press(Key::Escape, ui_frame);
    frames(4, ui_frame);
    EXPECT_FALSE(view.text_row.edit.editing);
    EXPECT_EQ(text(), before);
}

TEST_F(CompletionList, AClickTakesALine) {
    write("Tom gives a b");
    ASSERT_TRUE(is_open());
    const std::string second = listed()[1].word;
    const Box box = view.text_row.completions.box;
    click(box.min.x + 40, box.min.y + 6 + 28 + 14, ui_frame);
    frames(4, ui_frame);
    EXPECT_EQ(text(), "Tom gives a " + second + " ");
    EXPECT_TRUE(view.text_row.edit.editing);
    type(".", ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(text(), "Tom gives a " + second + ".");
}

TEST_F(CompletionList, TheLastLineOpensAllWordsAndOneOfThemGoesIntoTheText) {
    write("Tom gives a b");
    ASSERT_TRUE(is_open());
    press(Key::Up, ui_frame);
    for (std::size_t i = 0; i <= listed().size(); ++i) press(Key::Down, ui_frame);
    press(Key::Enter, ui_frame);
    frames(4, ui_frame);
    ASSERT_TRUE(view.text_row.sheet.open);
    EXPECT_FALSE(view.text_row.edit.editing);
    EXPECT_EQ(text(), "Tom gives a b");
    type("c", ui_frame);
    EXPECT_TRUE(session->document().forward.masks.causal) << "letters are no shortcuts while it is open";
    const auto at = find_item(
        "##all_words", {"kite"},
        [this](float x, float y) {
            move_mouse(x, y);
            frame(ui_frame);
        },
        20, 15);
    ASSERT_TRUE(at);
    click(at->x, at->y, ui_frame);
    frames(4, ui_frame);
    EXPECT_FALSE(view.text_row.sheet.open);
    EXPECT_EQ(text(), "Tom gives a kite");
    EXPECT_TRUE(view.text_row.edit.editing);
}

TEST_F(CompletionList, IsNotThereForModelsWithoutAListOfWords) {
    for (const char* preset : {"addition", "gpt-tiny", "induction"}) {
        open_example(preset);
        write("a");
        EXPECT_FALSE(is_open()) << preset;
        press(Key::Escape, ui_frame);
        frames(3, ui_frame);
    }
}

TEST_F(CompletionList, TheEndOfALongTextIsRead) {
    std::string words;
    for (int i = 0; i < 71; ++i) words += i % 2 == 0 ? "Lily " : "Tom ";
    session->apply({command::SetTexts{{words}, {}}, ""});
    session->wait();
    frames(4, ui_frame);
    EXPECT_EQ(session->snapshot()->problem, "");
    const auto shown = session->snapshot();
    const auto read = std::ssize(shown->tokens[0]);
    EXPECT_EQ(read, shown->trace->config.context_length);
    ASSERT_EQ(shown->left_out, std::vector<std::int64_t>{71 - read});
    EXPECT_EQ(shown->tokens[0].back().text, "Lily");
    EXPECT_EQ(session->document().texts[0], words) << "the text stays";
    const auto has = [&](const char* label) {
        return std::any_of(view.focus.stops().begin(), view.focus.stops().end(),
                           [&](const FocusStop& stop) { return stop.label == label; });
    };
    EXPECT_TRUE(has("##left_out"));
    session->apply({command::SetTexts{{"Lily has the ball."}, {}}, ""});
    session->wait();
    frames(4, ui_frame);
    EXPECT_FALSE(has("##left_out"));
    EXPECT_TRUE(session->snapshot()->left_out.empty());
}

/// Source and target have a row each where there is room.
TEST_F(CompletionList, BothTextsOfATranslationCanBeEdited) {
    open_example("translation");
    const auto has = [&](const char* label) {
        frames(3, ui_frame);
        return std::any_of(view.focus.stops().begin(), view.focus.stops().end(),
                           [&](const FocusStop& stop) { return stop.label == label; });
    };
    EXPECT_TRUE(has("##edit_source"));
    EXPECT_TRUE(has("##edit_text"));
    const float panes = find_window("##centre")->Pos.y;
    ImGui::GetIO().DisplaySize = {1600, 860};
    EXPECT_FALSE(has("##edit_source")) << "there, a switch stands before the tokens";
    EXPECT_EQ(find_window("##centre")->Pos.y, panes - 44);
    ImGui::GetIO().DisplaySize = {1600, 1000};
    frames(3, ui_frame);
    const auto stop = std::find_if(view.focus.stops().begin(), view.focus.stops().end(),
                                   [](const FocusStop& one) { return one.label == "##edit_source"; });
    click((stop->left + stop->right) / 2, (stop->top + stop->bottom) / 2, ui_frame);
    frames(3, ui_frame);
    ASSERT_TRUE(view.text_row.edit.editing);
    const std::string source = session->document().source_texts[0], target = session->document().texts[0];
    EXPECT_EQ(view.text_row.edit.text, source);
    press(Key::Backspace, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(session->document().source_texts[0], source.substr(0, source.size() - 1));
    EXPECT_EQ(session->document().texts[0], target);
}

/// A text that nothing could be computed for.
class UnreadText : public InterfaceFixture {
protected:
    void open_with(const std::string& text) {
        Document document = open_preset("addition");
        document.texts = {text};
        session = std::make_unique<Session>(std::move(document), [] {});
        frames(4, ui_frame);
    }
    std::string text() const { return session->document().texts[0]; }
};

TEST_F(UnreadText, IsInTheEditorAndCanBeRepaired) {
    open_with("the quantum flux");
    ASSERT_EQ(session->snapshot()->trace, nullptr);
    ASSERT_TRUE(view.text_row.edit.editing);
    EXPECT_EQ(view.text_row.edit.text, "the quantum flux");
    const bool dark = view.dark;
    type("l", ui_frame);
    EXPECT_EQ(text(), "the quantum fluxl") << "what is typed belongs to the text";
    EXPECT_EQ(view.dark, dark);
    press(Key::Escape, ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(text(), "the quantum flux");
    EXPECT_TRUE(view.text_row.edit.editing) << "there is nothing else to click";
    type("l", ui_frame);
    EXPECT_NE(view.dark, dark) << "after Escape, keys are shortcuts again";
    type("t", ui_frame);
    frames(3, ui_frame);
    for (std::size_t i = std::string("the quantum flux").size(); i > 0; --i) press(Key::Backspace, ui_frame);
    type("12+34", ui_frame);
    EXPECT_EQ(text(), "12+34");
    EXPECT_NE(session->snapshot()->trace, nullptr);
    EXPECT_EQ(session->snapshot()->problem, "");
    press(Key::Enter, ui_frame);
    frames(3, ui_frame);
    EXPECT_FALSE(view.text_row.edit.editing) << "now there are tokens to show";
}

/// One button takes the text to the example that reads any word.
TEST_F(UnreadText, CanBeReadWithTheStories) {
    open_example("addition");
    type("t", ui_frame);
    frames(3, ui_frame);
    type(" my cat is sad", ui_frame);
    press(Key::Enter, ui_frame);
    frames(4, ui_frame);
    const std::string typed = text();
    EXPECT_NE(session->snapshot()->problem.find("this model knows only the digits and + : , ="), std::string::npos)
        << session->snapshot()->problem;
    EXPECT_NE(session->snapshot()->problem.find("“my” is not among them"), std::string::npos);
    const auto stop = std::find_if(view.focus.stops().begin(), view.focus.stops().end(),
                                   [](const FocusStop& one) { return one.label == "Read it with stories"; });
    ASSERT_NE(stop, view.focus.stops().end());
    click((stop->left + stop->right) / 2, (stop->top + stop->bottom) / 2, ui_frame);
    frames(4, ui_frame);
    EXPECT_EQ(session->document().preset, "stories");
    EXPECT_EQ(text(), typed);
    EXPECT_EQ(session->snapshot()->problem, "");
}

TEST_F(UnreadText, IsClosedWhenAnotherDocumentIsOpened) {
    open_with("the quantum flux");
    press(Key::Escape, ui_frame);
    frames(3, ui_frame);
    ASSERT_TRUE(view.text_row.edit.editing);
    session->apply({command::OpenDocument{open_preset("stories")}, ""});
    session->wait();
    frames(4, ui_frame);
    ASSERT_NE(session->snapshot()->trace, nullptr);
    EXPECT_FALSE(view.text_row.edit.editing);
    type("t", ui_frame);
    frames(3, ui_frame);
    EXPECT_TRUE(view.text_row.edit.editing) << "the field that is asked for stays";
}

TEST_F(UnreadText, IsNotOpenedForAProblemOfTheModel) {
    Document document = open_preset("multi-head");
    document.config.d_model = 15;
    session = std::make_unique<Session>(std::move(document), [] {});
    frames(4, ui_frame);
    ASSERT_EQ(session->snapshot()->trace, nullptr);
    ASSERT_EQ(session->snapshot()->problem_field, Field::DModel);
    EXPECT_FALSE(view.text_row.edit.editing);
}

TEST_F(UnreadText, EveryViewCanBeDrawn) {
    open_with("the quantum flux");
    view.compare.choose(Compare::Unmasked);
    for (const ViewInfo& info : views()) {
        view.view = info.view;
        frames(2, ui_frame);
    }
    EXPECT_EQ(session->snapshot()->trace, nullptr);
}

/// As when work is restored: the document is replaced by that of another model.
TEST_F(UnreadText, OfAnotherModelLeavesNoNumbersBehind) {
    open_with("12+34");
    ASSERT_NE(session->snapshot()->trace, nullptr);
    Document other = open_preset("masked");
    other.texts = {"the quantum flux"};
    session->apply({command::OpenDocument{other}, ""});
    frames(4, ui_frame);
    EXPECT_EQ(session->snapshot()->trace, nullptr);
    EXPECT_TRUE(view.text_row.edit.editing);
    session->apply({command::Undo{}, ""});
    frames(4, ui_frame);
    EXPECT_NE(session->snapshot()->trace, nullptr);
}

}  // namespace
}  // namespace attn::app::test
