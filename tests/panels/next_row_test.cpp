/// The row of next-token candidates: shown for generating models, and a click appends a token.

#include <gtest/gtest.h>

#include "app/panels/panels.hpp"
#include "app/session/facets/next_words.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

class NextRowTest : public InterfaceFixture {
protected:
    float height() {
        float high = 0;
        with_context([&](PanelContext& context) { high = next_row_height(context, ImGui::GetIO().DisplaySize.y); });
        return high;
    }
};

TEST_F(NextRowTest, AClickWritesTheWord) {
    open_example("gpt-tiny");
    const std::string before = session->document().texts[0];
    const NextWords words = *get(facet::NextWords{0, session->document().sampling});
    ASSERT_GT(height(), 0);
    const ImGuiWindow* window = find_window("##next");
    ASSERT_NE(window, nullptr);
    click(window->Pos.x + 100, window->Pos.y + 16, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(whole_texts(session->document())[0], before + " " + words.likeliest.front().text);
    EXPECT_EQ(session->document().written.ids, std::vector{words.likeliest.front().id});
    session->apply({command::Undo{}, ""});
    EXPECT_EQ(whole_texts(session->document())[0], before);
}

TEST_F(NextRowTest, IsThereForModelsThatWriteOnly) {
    open_example("self-attention");
    EXPECT_EQ(height(), 0);
    open_example("causal-attention");
    EXPECT_GT(height(), 0);
    view.view = View::Train;
    EXPECT_EQ(height(), 0) << "which has predictions of its own";
    view.view = View::Heads;
    ImGui::GetIO().DisplaySize = {900, 600};
    EXPECT_EQ(height(), 0) << "a low window has no room for it";
}

}  // namespace
}  // namespace attn::app::test
