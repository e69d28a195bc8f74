/// A text that cannot be read, from the keyboard to every part of the window.

#include <gtest/gtest.h>

#include <algorithm>

#include "app/panels/frame/frame.hpp"
#include "app/panels/kit/asked_and_shown.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"
#include "tests/support/window_agreement.hpp"

namespace attn::app::test {
namespace {

class TextNotRead : public InterfaceFixture {
protected:
    TextNotRead() {
        open_example("addition");
        session->apply({command::SetTexts{{"12+34:"}, {}}, ""});
        session->wait();
    }
    void draw() override {
        with_context([this](PanelContext& context) {
            draw_frame(context);
            disagreement_ = disagreement_in_window(context);
        });
        now += 1.0 / 60;
        EXPECT_EQ(disagreement_, "");
    }
    /// Replaces the text, as a person does.
    void write_unreadable() {
        type("t", ui_frame);
        frames(3, ui_frame);
        ASSERT_TRUE(view.text_row.edit.editing);
        type(" zzz", ui_frame);
        press(Key::Enter, ui_frame);
        frames(4, ui_frame);
        ASSERT_FALSE(view.text_row.edit.editing);
        ASSERT_NE(session->snapshot()->problem, "");
    }
    std::string disagreement_;
};

TEST_F(TextNotRead, EveryPartShowsOneStateAndTheDifferenceIsDrawn) {
    write_unreadable();
    const auto shown = session->snapshot()->state->setup->texts;
    EXPECT_EQ(shown[0].find("zzz"), std::string::npos);
    EXPECT_TRUE(view.drawn.unread_text);
    EXPECT_TRUE(view.drawn.problem);
    EXPECT_FALSE(view.drawn.verified);
    type("c", ui_frame);
    frames(4, ui_frame);
    EXPECT_FALSE(session->document().forward.masks.causal);
    EXPECT_FALSE(session->snapshot()->trace->settings.masks.causal) << "the switch acts on the text that is shown";
    EXPECT_EQ(session->snapshot()->state->setup->texts, shown);
    EXPECT_TRUE(view.drawn.unread_text);
    type("c", ui_frame);
    frames(4, ui_frame);
    EXPECT_TRUE(session->snapshot()->trace->settings.masks.causal);
}

/// The sentence stands where the eye's stands otherwise, and the picture is dimmed in its place.
TEST_F(TextNotRead, MovesNothing) {
    const auto map = [&] {
        frames(3, ui_frame);
        return largest_map();
    };
    const NullCanvas::Call before = map();
    write_unreadable();
    EXPECT_TRUE(view.drawn.problem_in_line);
    EXPECT_EQ(map().min.y, before.min.y);
    EXPECT_EQ(map().max.y, before.max.y);
    EXPECT_NE(find_window("##old_centre"), nullptr);
    ImGui::GetIO().DisplaySize = {640, 480};  // where the sentence does not fit in the line, it still stands whole
    frames(4, ui_frame);
    EXPECT_TRUE(view.drawn.problem);
}

TEST_F(TextNotRead, EscapeBringsBackTheTextThatIsShown) {
    const std::vector<std::string> before = session->document().texts;
    write_unreadable();
    ASSERT_NE(session->document().texts, before);
    press(Key::Escape, ui_frame);
    frames(4, ui_frame);
    EXPECT_EQ(session->document().texts, before);
    EXPECT_EQ(session->snapshot()->problem, "");
    EXPECT_FALSE(view.drawn.unread_text);
}

/// Where source and target have a row each.
TEST_F(TextNotRead, IsShownWhileTheOtherTextIsEdited) {
    ImGui::GetIO().DisplaySize = {1600, 1000};
    open_example("translation");
    const std::string source = session->document().source_texts[0], target = session->document().texts[0];
    session->apply({command::SetTexts{{target + "1"}, {source}}, ""});
    frames(4, ui_frame);
    ASSERT_NE(session->snapshot()->problem, "");
    ASSERT_TRUE(view.drawn.unread_text);
    const auto& stops = view.focus.stops();
    const auto pencil = std::find_if(stops.begin(), stops.end(), [](const FocusStop& stop) { return stop.label == "##edit_source"; });
    ASSERT_NE(pencil, stops.end());
    click((pencil->left + pencil->right) / 2, (pencil->top + pencil->bottom) / 2, ui_frame);
    frames(3, ui_frame);
    ASSERT_TRUE(view.text_row.edit.editing);
    EXPECT_EQ(view.text_row.edit.text, source);
    EXPECT_TRUE(view.drawn.unread_text);
    type(" zzz", ui_frame);
    frames(4, ui_frame);
    EXPECT_TRUE(view.drawn.unread_text) << "in the field";
    session->apply({command::SetTexts{{target}, {source}}, ""});
    frames(4, ui_frame);
    EXPECT_FALSE(view.drawn.unread_text);
}

TEST_F(TextNotRead, ItsWordsAreNeitherWrittenOnNorLost) {
    session->apply({command::WriteOn{0, 3}, ""});
    session->wait_for_writing();
    frames(3, ui_frame);
    const auto tokens = session->snapshot()->tokens;
    write_unreadable();
    view.view = View::Write;
    frames(4, ui_frame);
    ASSERT_TRUE(view.drawn.written.has_value());
    EXPECT_EQ(view.drawn.written->tokens, tokens[0].size()) << "as in the text row";
    EXPECT_EQ(view.drawn.written->last, tokens[0].back().id);
    EXPECT_NE(view.drawn.candidates.state, nullptr);
    EXPECT_FALSE(view.drawn.candidates.act);
    EXPECT_FALSE(view.drawn.next_words.act);
    const std::vector<std::string> asked = session->document().texts;
    with_context([](PanelContext& context) {
        EXPECT_TRUE(unread_text(context, {}).has_value());
        EXPECT_NE(problem_words(context).find("the text is as before"), std::string::npos) << problem_words(context);
    });
    EXPECT_EQ(session->document().texts, asked);
}

TEST_F(TextNotRead, AClickOnItOpensItForMending) {
    write_unreadable();
    bool clicked = false;
    for (float x = ImGui::GetIO().DisplaySize.x - 190; x > 200 && !clicked; x -= 20) {
        click(x, 90, ui_frame);
        frames(2, ui_frame);
        clicked = view.text_row.edit.editing;
    }
    ASSERT_TRUE(clicked);
    EXPECT_NE(view.text_row.edit.text.find("zzz"), std::string::npos) << "what was typed, not what is shown";
}

}  // namespace
}  // namespace attn::app::test
