/// Caption layout: nothing is lost, nothing overlaps, numbers are not split.

#include "app/panels/lessons/caption_layout.hpp"

#include <gtest/gtest.h>

#include <random>

namespace attn::app::test {
namespace {

CaptionMeasures measures(float width) {
    return {
        .width = width, .space = 4, .padding = 3, .text_width = [](std::string_view text) { return 8 * static_cast<float>(text.size()); }};
}

TEST(CaptionLayout, AWordAndTheNumberInItStayTogether) {
    const std::vector<CaptionRun> runs = {{"it gives (", {}, false}, {"0.99", 1, true}, {") to Lily", {}, false}};
    // "(0.99)" takes 8 + 32 + 6 + 8 = 54.
    const auto wide = lay_out_caption(runs, measures(1000));
    EXPECT_EQ(lines_in(wide), 1U);
    const auto narrow = lay_out_caption(runs, measures(80));
    ASSERT_EQ(narrow.size(), 7U);
    EXPECT_EQ(narrow[1].text, "gives");
    EXPECT_EQ(narrow[2].text, "(");
    EXPECT_EQ(narrow[2].line, 1U) << "it moves to the next line with its number";
    EXPECT_EQ(narrow[2].x, 0);
    EXPECT_EQ(narrow[3].part, 1U);
    EXPECT_EQ(narrow[3].x, 8);
    EXPECT_EQ(narrow[3].width, 38) << "with its padding";
    EXPECT_EQ(narrow[4].text, ")");
    EXPECT_EQ(narrow[4].line, 1U);
    EXPECT_EQ(narrow[4].x, 46);
    EXPECT_EQ(narrow[5].text, "to");
}

TEST(CaptionLayout, NoTextGivesNoLine) {
    EXPECT_EQ(lines_in(lay_out_caption({}, measures(100))), 0U);
    const std::vector<CaptionRun> spaces = {{"   ", {}, false}};
    EXPECT_EQ(lines_in(lay_out_caption(spaces, measures(100))), 0U);
}

TEST(CaptionLayout, RandomCaptionsAreComplete) {
    std::mt19937 random(7);
    for (int i = 0; i < 300; ++i) {
        std::vector<CaptionRun> runs;
        std::string expected;
        const std::size_t count = random() % 9;
        for (std::size_t part = 0; part < count; ++part) {
            if (random() % 3 == 0) {
                runs.push_back({"[B=1, T=9]", part, random() % 2 == 0});
                expected += "[B=1,T=9]";
                continue;
            }
            std::string text;
            for (std::size_t n = random() % 40; n > 0; --n) text += random() % 4 == 0 ? ' ' : 'a';
            for (const char letter : text)
                if (letter != ' ') expected += letter;
            runs.push_back({std::move(text), {}, false});
        }
        const float width = static_cast<float>(10 + random() % 300);
        std::string found;
        float end = 0;
        std::size_t line = 0;
        for (const PlacedRun& run : lay_out_caption(runs, measures(width))) {
            for (const char letter : run.text)
                if (letter != ' ') found += letter;
            if (run.line == line) {
                EXPECT_GE(run.x, end) << "nothing overlaps";
            } else {
                EXPECT_EQ(run.line, line + 1);
                EXPECT_EQ(run.x, 0);
            }
            EXPECT_GE(run.width, 8 * static_cast<float>(run.text.size()));
            line = run.line;
            end = run.x + run.width;
        }
        EXPECT_EQ(found, expected);
    }
}

TEST(BoxLayout, BoxesGoOnInTheNextLineWhereTheyDoNotFit) {
    const std::vector<float> widths = {50, 40, 60, 200};
    const auto placed = lay_out_boxes(widths, 10, 110);
    ASSERT_EQ(placed.size(), 4U);
    EXPECT_EQ(placed[1].x, 60);
    EXPECT_EQ(placed[1].line, 0U);
    EXPECT_EQ(placed[2].x, 0);
    EXPECT_EQ(placed[2].line, 1U);
    EXPECT_EQ(placed[3].line, 2U) << "wider than the room, it has a line of its own";
    EXPECT_TRUE(lay_out_boxes({}, 10, 100).empty());
}

}  // namespace
}  // namespace attn::app::test
