/// The help pages: Markdown parsing, page display and search.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "app/panels/frame/help_sheet.hpp"
#include "app/panels/kit/help_pages.hpp"
#include "app/panels/kit/stage_words.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

using Kind = MarkdownBlock::Kind;

/// Describes blocks as "kind level marker: words|words", with styles as `code` and *strong*.
std::vector<std::string> described(std::string_view text) {
    constexpr std::string_view kKinds = "HPIRC";
    std::vector<std::string> all;
    for (const MarkdownBlock& block : parse_markdown(text)) {
        std::string line(1, kKinds[static_cast<std::size_t>(block.kind)]);
        if (block.level > 0) line += std::to_string(block.level);
        line += block.marker + ":";
        for (const auto& cell : block.cells) {
            line += "|";
            for (const TextRun& run : cell) {
                const char* mark = run.style == TextRun::Style::Code ? "`" : run.style == TextRun::Style::Strong ? "*" : "";
                line += mark + run.text + mark;
            }
        }
        all.push_back(line);
    }
    return all;
}

TEST(Markdown, ReadsEveryKindOfBlock) {
    EXPECT_THAT(
        described("# Title\nOne line\nand the next.\n\n## Part\n- first\n  goes on\n- second\n\n12. twelfth\n\n    a  b\n    c\n\nend"),
        testing::ElementsAre("H1:|Title", "P:|One line and the next.", "H2:|Part", "I•:|first goes on", "I•:|second", "I12.:|twelfth",
                             "C:|`a  b`", "C:|`c`", "P:|end"));
    EXPECT_THAT(described("| name | does |\n| --- | --- |\n| `a` | b *c* |\n| d | |\n"), testing::ElementsAre("R:|`a`|b *c*", "R:|d|"));
}

TEST(Markdown, ReadsStylesAndLeavesLoneMarksAlone) {
    EXPECT_THAT(described("a `*b*` **c d**, *e*. [f](g.md)!"), testing::ElementsAre("P:|a `*b*` *c d*, *e*. *f*!"));
    EXPECT_THAT(described("2 * 3 and `open and [no link] (x)"), testing::ElementsAre("P:|2 * 3 and `open and [no link] (x)"));
    EXPECT_THAT(described(""), testing::IsEmpty());
    EXPECT_THAT(described("\n\n#\n|\n"), testing::ElementsAre("R:"));
}

/// Every stage has a title, and every letter of a shape is in the glossary.
TEST(Words, StandForEveryStageAndAxis) {
    for (const StageId& id : every_stage()) {
        const std::string title = stage_title(id, "word");
        EXPECT_TRUE(title[0] >= 'A' && title[0] <= 'Z') << stage_name(id) << " has no words";
        EXPECT_EQ(title.find('_'), std::string::npos) << title;
    }
    std::string glossary;
    for (const HelpPage& page : help_pages())
        if (page.title == "Glossary")
            for (const MarkdownBlock& block : page.blocks) glossary += block.text() + "\n";
    ASSERT_FALSE(glossary.empty());
    for (const Axis axis : {Axis::B, Axis::H, Axis::T, Axis::S, Axis::C, Axis::D, Axis::F, Axis::V}) {
        EXPECT_FALSE(axis_meaning(axis).empty());
        EXPECT_NE(glossary.find("\n" + std::string(axis_letter(axis))), std::string::npos) << axis_letter(axis);
    }
    for (const char* word : {"query", "key", "value", "logit", "entropy", "residual stream", "softmax"})
        EXPECT_NE(glossary.find(std::string("\n") + word), std::string::npos) << word;
    ViewState view;
    open_help_page(view, "Glossary");
    EXPECT_TRUE(view.help);
    EXPECT_EQ(help_pages()[static_cast<std::size_t>(view.help_page.page - 1)].title, "Glossary");
}

TEST(HelpPages, HaveTitlesAndContents) {
    ASSERT_GE(help_pages().size(), 8U);
    for (const HelpPage& page : help_pages()) {
        EXPECT_FALSE(page.title.empty());
        EXPECT_GT(page.blocks.size(), 5U) << page.title;
        EXPECT_EQ(page.blocks.front().kind, Kind::Heading) << page.title;
    }
}

TEST(HelpPages, HoldTheLicencesOfEveryFont) {
    const HelpPage& last = help_pages().back();
    std::string text;
    for (const MarkdownBlock& block : last.blocks) text += block.text() + "\n";
    for (const char* words : {"Inter", "JetBrains Mono", "DejaVu Sans", "SIL Open Font License", "PERMISSION & CONDITIONS",
                              "The Font Software may be sold as part of a larger software package"})
        EXPECT_THAT(text, testing::HasSubstr(words));
}

TEST(HelpPages, AreSearched) {
    const std::vector<MarkdownBlock> found = find_in_help("abnar AND zuidema");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found.front().text(), "Looking");
    EXPECT_THAT(found.back().text(), testing::HasSubstr("rollout"));
    EXPECT_TRUE(find_in_help("no page says this").empty());
}

TEST(HelpPages, StandInTheOrderOfTheirNumbers) {
    std::vector<std::string> titles;
    for (const HelpPage& page : help_pages()) titles.push_back(page.title);
    EXPECT_THAT(titles, testing::ElementsAre("Looking", "Asking what if", "Training", "Lessons", "Files and exporting", "The doctor",
                                             "Command line", "Checking", "Glossary", "Recordings", "Licences"));
}

class HelpText : public ImGuiFixture {
protected:
    /// Draws blocks in a pane of this width, and returns how far to the right of its left edge they reach.
    float reach(std::span<const MarkdownBlock> blocks, float width) {
        float right = 0;
        frame([&] {
            ImGui::BeginChild("pane", {width, 0}, false, ImGuiWindowFlags_NoScrollbar);
            ImGui::PushClipRect({0, 0}, {100000, 100000}, false);
            draw_markdown(ui, blocks);
            for (const ImDrawVert& vertex : ImGui::GetWindowDrawList()->VtxBuffer) right = std::max(right, vertex.pos.x);
            right -= ImGui::GetWindowPos().x;
            ImGui::PopClipRect();
            ImGui::EndChild();
        });
        return right;
    }
};

TEST_F(HelpText, FitsIntoItsPane) {
    constexpr float kWide = 1124, kNarrow = 640;  // the sheet's, and in a small window
    for (const HelpPage& page : help_pages())
        for (const float width : {kWide, kNarrow}) {
            const float right = reach(page.blocks, width);
            EXPECT_GT(right, width / 2) << page.title;
            EXPECT_LE(right, width) << page.title;
        }
    // Negative control: a word that cannot be broken is seen to reach further.
    EXPECT_GT(reach(parse_markdown(std::string(300, 'm')), kNarrow), kNarrow);
}

TEST_F(HelpText, KeepsAllOfALongLineOfCode) {
    const auto letters = [this](const std::string& text, float width) {
        reach(parse_markdown(text), width);
        return vertices();
    };
    const std::string line = "    attnscope render --preset stories --view heads --out heads.png";
    EXPECT_EQ(letters(line, 200), letters(line, 2000));
    EXPECT_LT(letters("    attnscope render", 2000), letters(line, 2000));
}

class HelpSheet : public InterfaceFixture {
protected:
    HelpSheet() {
        open_example("multi-head");
        press(Key::F1, ui_frame);
        frames(2, ui_frame);
    }
    /// The height of the page's contents, which the window shows partly.
    float height() {
        const ImGuiWindow* window = find_window("##help_page");
        return window == nullptr ? 0 : window->ContentSize.y;
    }
};

TEST_F(HelpSheet, ShowsEveryPageAndClosesOnEscape) {
    ASSERT_TRUE(view.help);
    for (int page = 0; page <= static_cast<int>(help_pages().size()); ++page) {
        view.help_page.page = page;
        frames(3, ui_frame);
        EXPECT_GT(height(), 200) << page;
    }
    press(Key::Escape, ui_frame);
    EXPECT_FALSE(view.help);
}

TEST_F(HelpSheet, StaysOpenWhileItIsClickedAndClosesOnAClickOutside) {
    const ImGuiWindow* sheet = find_window("##help_sheet");
    ASSERT_NE(sheet, nullptr);
    // Clicks along the row of pills from right to left, which hits several of them and finally the first.
    std::set<int> pages;
    for (float x = sheet->Size.x - 80; x > 30; x -= 25) {  // beside the close button
        click(sheet->Pos.x + x, sheet->Pos.y + 36, ui_frame);
        ASSERT_TRUE(view.help) << x;
        pages.insert(view.help_page.page);
    }
    EXPECT_GT(pages.size(), 3U);
    EXPECT_EQ(view.help_page.page, 0);
    click(sheet->Pos.x + sheet->Size.x / 2, sheet->Pos.y + sheet->Size.y / 2, ui_frame);
    EXPECT_TRUE(view.help);
    click(sheet->Pos.x / 2, sheet->Pos.y / 2, ui_frame);
    EXPECT_FALSE(view.help);
}

TEST_F(HelpSheet, ShowsWhatIsSearchedFor) {
    type("Abnar", ui_frame);
    frames(3, ui_frame);
    const float some = height();
    type(" no page says this", ui_frame);
    frames(3, ui_frame);
    EXPECT_GT(some, 2 * height());
    EXPECT_GT(height(), 0);
}

TEST_F(HelpSheet, TakesWhatIsTyped) {
    const Document before = session->document();
    const bool dark = view.dark;
    type("c", ui_frame);
    type("ausal L", ui_frame);
    EXPECT_EQ(view.help_page.search, "causal L");
    EXPECT_EQ(session->document(), before) << "the window behind it has keys of these letters";
    EXPECT_EQ(view.dark, dark);
    press(Key::Escape, ui_frame);
    frames(3, ui_frame);
    EXPECT_FALSE(view.help);
    EXPECT_EQ(session->document(), before);
    type("c", ui_frame);
    EXPECT_NE(session->document(), before) << "the negative control: the window has its keys back";
}

TEST_F(HelpSheet, IsClosedByTheKeyThatOpensIt) {
    type("?", ui_frame);
    EXPECT_FALSE(view.help);
    type("?", ui_frame);
    frames(3, ui_frame);
    EXPECT_TRUE(view.help);
    EXPECT_EQ(view.help_page.search, "");
    press(Key::F1, ui_frame);
    EXPECT_FALSE(view.help);
}

}  // namespace
}  // namespace attn::app::test
