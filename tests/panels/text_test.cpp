#include "app/widgets/text.hpp"

#include <algorithm>
#include <random>

#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/shape_text.hpp"
#include "app/widgets/shown_text.hpp"
#include "app/widgets/token_chips.hpp"
#include "app/widgets/wrapped_lines.hpp"
#include "engine/io/utf8.hpp"
#include "tests/support/imgui_fixture.hpp"

namespace attn::app {
namespace {

using test::ImGuiFixture;

class Text : public ImGuiFixture {};

std::string joined(const std::vector<ColoredText>& runs) {
    std::string text;
    for (const ColoredText& run : runs) text += run.text;
    return text;
}

TEST(VisibleText, ShowsWhatCannotBeSeen) {
    EXPECT_EQ(visible_text("cat"), "cat");
    EXPECT_EQ(visible_text(" a\n\tb"), "␣a↵⇥b");
    EXPECT_EQ(visible_text("the cat", true), "the cat");
    EXPECT_EQ(visible_text(" the cat ", true), "␣the cat␣");
    EXPECT_EQ(visible_text("     ", true), "␣␣␣␣␣");
    EXPECT_EQ(visible_text("the  cat sat", true), "the␣␣cat sat");
    EXPECT_EQ(visible_text(std::string("\0\x07\x7F", 3)), "\\x00\\x07\\x7F");
    EXPECT_EQ(visible_text("é∞😀"), "é∞😀");
    EXPECT_EQ(visible_text("\xC3"), "\\xC3") << "cut off";
    EXPECT_EQ(visible_text("\xC0\xAF"), "\\xC0\\xAF") << "overlong";
    EXPECT_EQ(visible_text("\xED\xA0\x80"), "\\xED\\xA0\\x80") << "surrogate";
    EXPECT_EQ(visible_text("\xFF"
                           "a"),
              "\\xFFa");
    EXPECT_EQ(visible_text(""), "");
}

TEST_F(Text, CharactersWithoutAGlyphAreTheirCodePoints) {
    // The test's font has only Latin letters.
    EXPECT_EQ(visible_text("déjà vu", true), "déjà vu");
    EXPECT_EQ(visible_text("猫"), "U+732B");
    EXPECT_EQ(visible_text("🍕"), "U+1F355");
    EXPECT_EQ(visible_text("של"), "U+05E9+05DC") << "a word of them";
    EXPECT_EQ(visible_text("a猫b"), "aU+732Bb");
    EXPECT_EQ(visible_text("\xE7\x8C"), "\\xE7\\x8C") << "half a character stays bytes";
}

TEST_F(Text, LinesAreCutAtSpacesAlone) {
    frame([&] {
        ImFont* font = ui.fonts().label;  // 7 pixels a letter
        EXPECT_EQ(lines_of(font, "q[6,d] · k[2,d] = 0.25", 7 * 9), (std::vector<std::string>{"q[6,d] ·", "k[2,d] =", "0.25"}));
        EXPECT_EQ(lines_of(font, "k[2,d]", 7 * 4), std::vector<std::string>{"k[2,d]"}) << "a word is never cut";
        EXPECT_EQ(lines_of(font, "", 10), std::vector<std::string>{""});
    });
}

TEST_F(Text, WrappedTextBreaksAtSpacesAndInPathsAfterASlash) {
    using Lines = std::vector<std::string_view>;
    frame([&] {
        ImFont* font = ui.fonts().label;  // 7 pixels a letter
        const auto wrapped = [&](std::string_view text, std::size_t letters) {
            const float width = 7 * static_cast<float>(letters);
            Lines lines = wrapped_lines(font, text, width);
            EXPECT_EQ(wrapped_height(font, width, text), static_cast<float>(lines.size()) * font_size(font));
            return lines;
        };
        EXPECT_EQ(wrapped("about 0.131, not 1,024.5", 9), (Lines{"about", "0.131,", "not", "1,024.5"})) << "numbers stay whole";
        EXPECT_EQ(wrapped("/home/me/models/gpt2 is gone", 12), (Lines{"/home/me/", "models/gpt2", "is gone"}));
        EXPECT_EQ(wrapped("Opened /home/me/a.json.", 14), (Lines{"Opened /home/", "me/a.json."})) << "a path begins on the line";
        EXPECT_EQ(wrapped("it is 3/4 or and/or", 7), (Lines{"it is", "3/4 or", "and/or"})) << "two numbers are no path";
        EXPECT_EQ(wrapped("see https://a.b/c/d", 11), (Lines{"see", "https://", "a.b/c/d"}));
        EXPECT_EQ(wrapped("layers.0.attention.weights", 20), (Lines{"layers.0.attention.", "weights"})) << "wider than a line";
        EXPECT_EQ(wrapped("0.12345678901234", 6), (Lines{"0.1234", "567890", "1234"})) << "a number is cut only where nothing else helps";
        EXPECT_EQ(wrapped("one\n\n  two\n", 20), (Lines{"one", "", "  two"}));
        EXPECT_EQ(wrapped("éééé", 2), (Lines{"éé", "éé"})) << "characters stay whole";
        EXPECT_EQ(wrapped("ab", 0), (Lines{"a", "b"}));
        EXPECT_TRUE(wrapped("", 5).empty());
    });
}

TEST_F(Text, WrappedTextLosesNothingButSpaces) {
    std::mt19937 random(5);
    frame([&] {
        ImFont* font = ui.fonts().label;
        constexpr std::string_view kLetters = "ab1./ ,\n";
        for (int round = 0; round < 400; ++round) {
            std::string text;
            for (std::size_t i = random() % 40; i > 0; --i) text += kLetters[random() % kLetters.size()];
            const float width = static_cast<float>(random() % 80);
            std::string kept = text, together;
            for (const std::string_view line : wrapped_lines(font, text, width)) {
                together += line;
                EXPECT_TRUE(line.size() <= 1 || text_width(font, line) <= width) << text;
            }
            for (std::string* all : {&kept, &together}) std::erase_if(*all, [](char c) { return c == ' ' || c == '\n'; });
            EXPECT_EQ(together, kept);
        }
    });
}

TEST_F(Text, ShortenedInTheMiddleBothEndsAreSeen) {
    frame([&] {
        ImFont* font = ui.fonts().mono;
        EXPECT_EQ(elide_shown_middle(font, "", "because", 1000), "because");
        EXPECT_EQ(elide_shown_middle(font, "", "because", 1), "");
        const float five = text_width(font, "abcde");
        EXPECT_EQ(elide_shown_middle(font, "", "a_long_sentence", five), "a_\u2026ce") << "the last ones first";
        for (float width = 0; width < 80; width += 3) {
            const std::string cut = elide_shown_middle(font, "", "éé becauseé because é", width);
            EXPECT_LE(text_width(font, cut), width);
            EXPECT_EQ(find_invalid_utf8(cut), std::nullopt) << cut;
        }
    });
}

TEST_F(Text, ShownCharactersMakeTheVisibleText) {
    const std::vector<std::string> some = {"a", " ", "\n", "\x07", "\xC3", "é", "猫", "ש", "🍕", "\xF0\x9F", "\\"};
    std::mt19937 random(7);
    for (int i = 0; i < 200; ++i) {
        std::string text;
        for (std::size_t length = random() % 9; length > 0; --length) text += some[random() % some.size()];
        for (const bool inner : {false, true}) {
            std::string all;
            for (const std::string& one : shown_characters(text, inner)) {
                EXPECT_FALSE(one.empty());
                all += one;
            }
            EXPECT_EQ(all, visible_text(text, inner));
        }
    }
    EXPECT_EQ(shown_characters("a\x07של"), (std::vector<std::string>{"a", "\\x07", "U+05E9", "+05DC"}));
}

/// Every cut text is made of whole shown characters.
TEST_F(Text, ShortenedTextsKeepWholeEscapes) {
    frame([&] {
        ImFont* font = ui.fonts().mono;
        const std::string text = "\x07\x01猫猫\x02🍕\x03";
        const std::vector<std::string> parts = shown_characters(text);
        std::size_t cuts = 0;
        for (float width = 0; width < 400; width += 3) {
            for (const std::string_view before : {"", "…"}) {
                const std::string cut = elide_shown_middle(font, before, text, width);
                EXPECT_LE(text_width(font, cut), width);
                std::vector<std::string> possible = {"", std::string(before) + visible_text(text)};
                for (std::size_t head = 0; head < parts.size(); ++head)
                    for (std::size_t tail = head + 1; tail <= parts.size(); ++tail) {
                        std::string one(before);
                        for (std::size_t i = 0; i < head; ++i) one += parts[i];
                        one += "…";
                        for (std::size_t i = tail; i < parts.size(); ++i) one += parts[i];
                        possible.push_back(one);
                    }
                EXPECT_NE(std::find(possible.begin(), possible.end(), cut), possible.end()) << cut;
                cuts += cut.empty() ? 0 : 1;
            }
            const std::string end = elide_shown(font, text, width);
            EXPECT_LE(text_width(font, end), width);
            std::vector<std::string> possible = {"", visible_text(text)};
            std::string beginning;
            for (const std::string& part : parts) possible.push_back((beginning += part) + "…");
            EXPECT_NE(std::find(possible.begin(), possible.end(), end), possible.end()) << end;
        }
        EXPECT_GT(cuts, 20U);
        EXPECT_EQ(elide_shown_middle(font, "…", "short", 1000), "…short");
    });
}

TEST_F(Text, ElidePartsLeavesOutWholeParts) {
    frame([&] {
        ImFont* font = ui.fonts().label;
        const float two = text_width(font, "layer 0 · all heads");
        EXPECT_EQ(elide_parts(font, "layer 0 · all heads", two), "layer 0 · all heads");
        EXPECT_EQ(elide_parts(font, "layer 0 · all heads · rows", two), "layer 0 · all heads");
        EXPECT_EQ(elide_parts(font, "layer 0 · all heads · rows", two - 1), "layer 0");
        EXPECT_EQ(elide_parts(font, "layer 0 · all heads", text_width(font, "lay\u2026")), "");
        EXPECT_EQ(elide_parts(font, "layer 0 · all heads", text_width(font, "layer\u2026")), "");
        EXPECT_EQ(elide_parts(font, "what each layer expects", text_width(font, "what each lay\u2026")), "what each lay\u2026");
    });
}

TEST_F(Text, ElideFitsAndKeepsWholeCharacters) {
    frame([&] {
        ImFont* font = ui.fonts().label;
        EXPECT_EQ(elide(font, "because", 1000), "because");
        for (float width = 0; width < 100; width += 3) {
            const std::string cut = elide(font, "éé becauseé", width);
            EXPECT_TRUE(text_width(font, cut) <= width + 0.01f) << width;
            for (std::size_t at = 0; at < cut.size(); at += character_length(std::string_view(cut).substr(at)))
                ASSERT_GT(character_length(std::string_view(cut).substr(at)), 0U) << "no half characters";
        }
        EXPECT_EQ(elide(font, "because", 1), "");
    });
}

TEST(ShapeText, ShortAndLong) {
    Theme theme;
    theme.colors = palette(false);
    const Shape shape{{Axis::B, 2}, {Axis::T, 12}};
    EXPECT_EQ(joined(shape_runs(theme, shape)), "[B2 T12]");
    EXPECT_EQ(joined(shape_runs(theme, shape, true)), shape.text());
    EXPECT_EQ(shape_runs(theme, shape)[1].color, theme.colors.axis_b);
    EXPECT_EQ(shape_runs(theme, shape)[3].color, theme.colors.axis_t);
    EXPECT_EQ(joined(shape_runs(theme, Shape{})), "[]");
}

class Chips : public ImGuiFixture {
protected:
    Chips() {
        for (int i = 0; i < 10; ++i) tokens.push_back({.text = "tok", .id = i});
        tokens[9].padding = true;
        tokens[8].unknown = true;
    }
    std::function<void()> contents = [this] {
        ImGui::SetCursorScreenPos(ImVec2(50, 20));
        result = token_chips(ui, "chips", tokens, width, options);
        if (result.clicked >= 0) clicked = result.clicked;
        if (result.right_clicked >= 0) right_clicked = result.right_clicked;
        background += result.background_clicked;
    };
    std::vector<Token> tokens;
    ChipOptions options;
    ChipResult result;
    float width = 800;
    int clicked = -1, right_clicked = -1, background = 0;
};

// A chip with "tok" in the test's font: 3 letters of 7 pixels, 9 pixels of padding on both sides, 5 between chips.
constexpr float kChip = 21 + 18, kPitch = kChip + 5;

TEST_F(Chips, ARowNarrowerThanAChipShowsItsBeginning) {
    width = 30;
    options.marks.query = 4;
    frames(2, contents);
    click(50 + 27, 40, contents);
    EXPECT_EQ(clicked, 4);
}

/// What is seen whole and what is counted at the ends is the whole text, and the chosen query is seen whole, whatever becomes of the row.
TEST_F(Chips, EveryTokenIsSeenOrCounted) {
    const auto whole = [&] { return tokens.size() - result.before - result.after; };
    for (const float room : {430.F, 300.F, 210.F, 160.F, 125.F})
        for (int query = 0; query < 10; ++query) {
            width = 430;
            options.marks.query = query;
            frames(2, contents);
            width = room;  // as where a chip that says something begins to stand beside it
            frames(2, contents);
            const float inside = room - 2 * 40;
            EXPECT_LE(static_cast<float>(whole()) * kPitch - 5, inside + 2) << room;
            EXPECT_GE(static_cast<float>(whole() + 2) * kPitch, inside) << room;
            EXPECT_TRUE(static_cast<int>(result.before) <= query && query < static_cast<int>(tokens.size() - result.after))
                << query << " is cut in " << room;
        }
}

TEST(Chip, OfAPadTokenHasNoId) {
    EXPECT_EQ(id_text(Token{"<pad>", 3, true}), "");
    EXPECT_EQ(id_text(Token{"Lily", 3, false}), "3");
}

TEST_F(Chips, OfNewWordsHaveTheirPlaceWhereTheIdStands) {
    frames(2, contents);
    const float usual = result.width;
    EXPECT_EQ(id_text(tokens[2]), "2");
    tokens[2].place = 1;
    tokens[3].place = 8;
    tokens[3].text = "scooter";
    EXPECT_EQ(id_text(tokens[2]), "new 1");
    EXPECT_EQ(id_text(tokens[3]), "new 8");
    EXPECT_EQ(chip_text(tokens[3]), "scooter") << "as typed, whatever its place";
    frames(2, contents);
    EXPECT_GT(result.width, usual);
}

TEST_F(Chips, ClickAndHoverNameTheToken) {
    frames(2, contents);
    EXPECT_EQ(result.hovered, -1);
    EXPECT_NEAR(result.width, 10 * kPitch - 5, 0.5f);
    for (int i = 0; i < 10; ++i) {
        click(50 + kPitch * static_cast<float>(i) + 5, 40, contents);
        EXPECT_EQ(clicked, i);
        EXPECT_EQ(result.hovered, i);
    }
    click(50 + 3 * kPitch + 5, 40, contents, 1);
    EXPECT_EQ(right_clicked, 3);
    EXPECT_EQ(background, 0);
    click(50 + 10 * kPitch + 40, 40, contents);
    EXPECT_EQ(background, 1) << "beside the chips";
    EXPECT_EQ(clicked, 9);
}

/// What lies beyond the ends of the row is counted there; a click turns a page.
TEST_F(Chips, CountsWhatDoesNotFit) {
    for (int i = 10; i < 100; ++i) tokens.push_back({.text = "tok", .id = i});
    frames(2, contents);
    const auto hovered_from = [&](float x, float to) {
        std::set<int> seen;
        for (; x < to; x += 10) {
            move_mouse(x, 40);
            frame(contents);
            if (result.hovered >= 0) seen.insert(result.hovered);
        }
        return seen;
    };
    const std::set<int> first = hovered_from(50, 850);
    EXPECT_EQ(*first.begin(), 0);
    EXPECT_LT(*first.rbegin(), 99);
    click(50 + 800 - 15, 40, contents);
    EXPECT_EQ(clicked, -1) << "the count is no token";
    frames(2, contents);
    const std::set<int> second = hovered_from(50, 850);
    EXPECT_GT(*second.begin(), 0);
    EXPECT_LE(*second.begin(), *first.rbegin() + 1) << "no token is passed over";
    EXPECT_GT(*second.rbegin(), *first.rbegin());
    click(50 + 15, 40, contents);
    frames(2, contents);
    EXPECT_EQ(hovered_from(50, 850), first);
}

TEST_F(Chips, ManyScrollAndFollowTheChosenOne) {
    for (int i = 10; i < 1000; ++i) tokens.push_back({.text = "tok", .id = i});
    frames(2, contents);
    EXPECT_LT(vertices(), 8000) << "only what is visible";
    options.marks.query = 700;
    frames(2, contents);
    bool seen = false;
    for (float x = 50; x < 850 && !seen; x += 20) {
        move_mouse(x, 40);
        frame(contents);
        seen = result.hovered == 700;
    }
    EXPECT_TRUE(seen);
    options.wrap = true;
    options.ids = false;
    frames(2, contents);
    click(60, 20 + (28 + 5) * 2 + 10, contents);
    EXPECT_EQ(clicked, 36) << "18 in a line of 800 pixels";
}

TEST_F(Chips, EmptyAndLongTokens) {
    tokens = {{.text = "", .id = 0}, {.text = std::string(500, 'w'), .id = 123456789}, {.text = "\n", .id = 2}};
    frames(2, contents);
    EXPECT_LT(result.width, 300);
    tokens.clear();
    frame(contents);
    EXPECT_EQ(result.width, 0);
}

class Edit : public ImGuiFixture {
protected:
    std::function<void()> contents = [this] {
        if (!edit.editing) return;
        const TextEditResult now = text_edit(ui, "edit", edit, 400);
        changes += now.changed;
        committed += now.committed;
        cancelled += now.cancelled;
    };
    TextEdit edit;
    int changes = 0, committed = 0, cancelled = 0;
};

TEST_F(Edit, TypingReportsEveryChangeAndEnterCommits) {
    begin_text_edit(edit, "the cat");
    frames(3, contents);
    EXPECT_EQ(changes, 0);
    press(Key::End, contents);
    type(" sat", contents);
    EXPECT_EQ(edit.text, "the cat sat");
    EXPECT_EQ(changes, 4);
    press(Key::Enter, contents);
    EXPECT_EQ(committed, 1);
    EXPECT_FALSE(edit.editing);
    EXPECT_EQ(edit.text, "the cat sat");
}

TEST_F(Edit, ATextLongerThanTheFieldIsShownFromItsBeginning) {
    const std::string longer(200, 'a');
    for (const std::string& text : {std::string("the cat"), longer}) {
        begin_text_edit(edit, text);
        frames(3, contents);
        type("x", contents);
        EXPECT_EQ(edit.text, text == longer ? "x" + text : text + "x");
        press(Key::Escape, contents);
        frame(contents);
    }
}

TEST_F(Edit, EscapeBringsTheOriginalBack) {
    begin_text_edit(edit, "the cat");
    frames(3, contents);
    press(Key::End, contents);
    type(" sat on a very long mat that does not fit into any small buffer", contents);
    EXPECT_GT(edit.text.size(), 60u);
    press(Key::Escape, contents);
    EXPECT_EQ(cancelled, 1);
    EXPECT_EQ(committed, 0);
    EXPECT_EQ(edit.text, "the cat");
    EXPECT_FALSE(edit.editing);
}

TEST_F(Edit, ClickingElsewhereCommits) {
    begin_text_edit(edit, "");
    frames(3, contents);
    type("hi", contents);
    click(900, 700, contents);
    EXPECT_EQ(committed, 1);
    EXPECT_EQ(edit.text, "hi");
}

}  // namespace
}  // namespace attn::app
