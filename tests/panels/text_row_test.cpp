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
