/// The Write view: candidates, moments and branches by mouse and keyboard.

#include "app/panels/write/write_view.hpp"

#include <gtest/gtest.h>

#include "app/panels/maps/head_captions.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/session/head_rows.hpp"
#include "app/widgets/text.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

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
    /// Clicks over a child window, from its top, until `done`.
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
    // Another one beside it, which the sampler would never draw.
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
    view.view = View::Write;
    session->apply({command::ShowWritten{1}, ""});
    with_context([](PanelContext& context) { compare_with_branch(context, 4); });
    EXPECT_EQ(session->document().pins.a->setup->written.ids.size(), session->document().written.ids.size());
    with_context([](PanelContext& context) { context.commands.push_back({command::ForgetWritten{4}, ""}); });
    EXPECT_EQ(branch_ends(writing()).size(), 1U);
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
    open_example("self-attention");
    view.view = View::Write;
    frames(3, ui_frame);
    EXPECT_EQ(find_window("##candidates"), nullptr);
    with_context([](PanelContext& context) { EXPECT_FALSE(can_write(context)); });
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
    EXPECT_EQ(share_words(0.0423), "0.0423");
    EXPECT_EQ(share_words(7.58e-6), "7.58e−6");
    open();
    with_context([](PanelContext& context) {
        const ImFont* font = context.theme.fonts.mono_small;
        const HeadCaption caption{"entropy 1.23", 0};
        EXPECT_EQ(caption_that_fits(caption, font, text_width(font, caption.text)), "entropy 1.23");
        EXPECT_EQ(caption_that_fits(caption, font, text_width(font, caption.text) - 1), "1.23");
        EXPECT_EQ(caption_that_fits(caption, font, text_width(font, "1.2")), "") << "half a number says something else";
    });
}

TEST_F(WriteViewTest, SaysWhyTheSamplerCuts) {
    EXPECT_EQ(cut_name(Cut::TopK, {.top_k = 5}), "top-k 5");
    EXPECT_EQ(cut_name(Cut::MinP, {.min_p = 0.05}), "min-p 0.05");
    for (const Cut cut : {Cut::TopK, Cut::TopP, Cut::MinP, Cut::Temperature}) EXPECT_NE(cut_words(cut, {}), "");
    EXPECT_EQ(cut_words(Cut::None, {}), "");
}

}  // namespace
}  // namespace attn::app::test
