/// A single table of actions for keys, sheet and palette: keys are unambiguous, and everything can be found by name.

#include "app/panels/actions/palette.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "app/panels/frame/frame.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/lessons/lesson_player.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "engine/plan/mistake.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

/// Keys shared by two actions in overlapping scopes, such as "Ctrl + Z: Undo, Redo".
std::vector<std::string> shared_keys(std::span<const Action> all) {
    std::vector<std::string> shared;
    for (const KeyScope scope : {KeyScope::Picture, KeyScope::Training, KeyScope::Lesson}) {
        std::map<std::string, std::string> owner;
        for (const Action& action : all) {
            // A lesson's keys take precedence, so they only need to differ from each other.
            const bool counts = action.scope == scope || (action.scope == KeyScope::Everywhere && scope != KeyScope::Lesson);
            if (!counts) continue;
            for (const KeyChord& chord : action.chords) {
                const auto [place, fresh] = owner.emplace(chord.text(), action.name);
                if (!fresh) shared.push_back(chord.text() + ": " + place->second + ", " + action.name);
            }
        }
    }
    return shared;
}

TEST(Actions, NoKeyMeansTwoThings) {
    EXPECT_THAT(shared_keys(actions()), testing::IsEmpty());
    std::vector<Action> planted(actions().begin(), actions().end());
    Action second;
    second.name = "Something else";
    second.chords = {{.typed = 'c'}};
    planted.push_back(second);
    EXPECT_THAT(shared_keys(planted), testing::Contains("C: Causal mask on or off, Something else"));
}

TEST(Actions, AreNamedOnceAndCanBeDone) {
    std::set<std::string> names;
    for (const Action& action : actions()) {
        EXPECT_TRUE(names.insert(action.name).second) << action.name;
        EXPECT_TRUE(action.run != nullptr) << action.name;
        EXPECT_FALSE(action.group.empty()) << action.name;
        for (const KeyChord& chord : action.chords) EXPECT_FALSE(chord.none()) << action.name;
    }
}

TEST(Fuzzy, FindsLettersInTheirOrderAndPrefersBeginningsOfWords) {
    EXPECT_TRUE(fuzzy_score("", "anything"));
    EXPECT_TRUE(fuzzy_score("causal", "Causal mask on or off"));
    EXPECT_TRUE(fuzzy_score("cmo", "Causal mask on or off"));
    EXPECT_TRUE(fuzzy_score("mask causal", "Causal mask on or off")) << "words may come in any order";
    EXPECT_FALSE(fuzzy_score("lasuac", "Causal mask on or off"));
    EXPECT_FALSE(fuzzy_score("causal heads", "Causal mask on or off"));
    EXPECT_GT(fuzzy_score("head", "Go to head 1"), fuzzy_score("head", "The arrow shed"));
    EXPECT_GT(fuzzy_score("redo", "Redo"), fuzzy_score("redo", "Residual additions on or off"));
    EXPECT_GT(fuzzy_score("und", "Undo"), fuzzy_score("und", "Unmasked, and others"));
}

TEST(Fuzzy, DoesNotFindScatteredLetters) {
    EXPECT_FALSE(fuzzy_score("repair", "Break it: Padding on queries instead of keys"));
    EXPECT_FALSE(fuzzy_score("font", "Follow the newest step"));
    EXPECT_TRUE(fuzzy_score("cmask", "Causal mask on or off"));
}

class PaletteTest : public InterfaceFixture {
protected:
    PaletteTest() { open_example("multi-head"); }
    void open() {
        hold_modifiers(true, false);
        press('K', ui_frame);
        hold_modifiers(false, false);
        frames(2, ui_frame);
        ASSERT_TRUE(view.palette.open);
    }
    void run(const char* query) {
        open();
        type(query, ui_frame);
        press(Key::Enter, ui_frame);
        frames(2, ui_frame);
        EXPECT_FALSE(view.palette.open);
    }
    std::vector<std::string> lines() {
        std::vector<std::string> names;
        with_context([&](PanelContext& context) {
            const std::vector<Action> all = all_actions(context);
            for (const Action* action : palette_lines(context, all)) names.push_back(action->name);
        });
        return names;
    }
};

TEST_F(PaletteTest, KeysMakeEverythingLargerAndSmallerAsInBrowsers) {
    control('+');
    EXPECT_GT(view.ui_zoom, 1);
    control('0');
    EXPECT_EQ(view.ui_zoom, 1);
    control('-');
    EXPECT_LT(view.ui_zoom, 1);
    control('+', true);
    EXPECT_DOUBLE_EQ(view.ui_zoom, 1) << "with Shift, as where + shares its key with =";
    hold_modifiers(true, false);
    press(Key::KeypadAdd, ui_frame);
    hold_modifiers(false, false);
    EXPECT_GT(view.ui_zoom, 1);
    const std::set<std::string> keys = [] {
        std::set<std::string> first;
        for (const Action& action : actions())
            if (action.sheet == "everything larger, smaller, as usual") first.insert(action.chords.front().text());
        return first;
    }();
    EXPECT_EQ(keys, (std::set<std::string>{"Ctrl + +", "Ctrl + -", "Ctrl + 0"}));
}

TEST_F(PaletteTest, DoesWhatIsTyped) {
    const bool causal = session->document().forward.masks.causal;
    run("causal mask");
    EXPECT_NE(session->document().forward.masks.causal, causal);
    run("go attention_out");
    EXPECT_EQ(view.stage, (StageId{Stage::AttentionOut, 0}));
    run("head 3");
    EXPECT_EQ(view.head, 3);
    run("L0 H2");
    EXPECT_EQ(view.stage, (StageId{Stage::Weights, 0}));
    EXPECT_EQ(view.head, 2);
    run("view grid");
    EXPECT_EQ(view.view, View::Grid);
    run("L0 H1");
    EXPECT_EQ(view.view, View::Grid) << "which frames it";
    EXPECT_EQ(view.head, 1);
    view.view = View::Heads;
    run("find heads induction");
    EXPECT_EQ(view.view, View::Grid);
    EXPECT_EQ(view.grid.find, "repeat");
    run("leave out first key");
    EXPECT_TRUE(view.heads.without_first_key);
    run("times value norm");
    EXPECT_TRUE(view.heads.norm_weighted);
    run("gpt");
    EXPECT_EQ(session->document().preset, "gpt-tiny");
    run("light or dark");
    EXPECT_FALSE(view.dark);
    run("lesson masks");
    EXPECT_TRUE(view.lesson.open());
    run("leave lesson");
    EXPECT_FALSE(view.lesson.open());
    run("train on copy");
    EXPECT_EQ(session->document().run.task.kind, TaskKind::Copy);
    EXPECT_EQ(view.view, View::Train);
}

TEST_F(PaletteTest, SettingsAreFoundByWhatTheyHold) {
    view.palette.query = "dropout";
    EXPECT_THAT(lines(), testing::Contains("Settings: Softmax"));
    view.settings.folded.insert("softmax");
    view.panes.left = false;
    view.settings.search.text = "mask";
    frames(2, ui_frame);
    run("settings softmax");
    EXPECT_FALSE(view.settings.folded.contains("softmax"));
    EXPECT_TRUE(view.panes.left);
    EXPECT_EQ(view.settings.search.text, "") << "else it might not be listed";
    view.view = View::Train;
    EXPECT_THAT(lines(), testing::Not(testing::Contains(testing::HasSubstr("Settings: "))));
}

TEST_F(PaletteTest, HeadsAreFoundByWhatTheyDo) {
    view.palette.query = "sink";
    EXPECT_THAT(lines(), testing::UnorderedElementsAre("Find heads: sink", "Leave out the first key: on or off"));
    view.palette.query = "find heads alignment";
    EXPECT_THAT(lines(), testing::IsEmpty()) << "this model has no cross-attention";
    open_example("translation");
    EXPECT_THAT(lines(), testing::ElementsAre("Find heads: alignment"));
}

/// Queries that used to find nothing or the wrong action: synonyms work, and actions that discard something do not match by accident.
TEST_F(PaletteTest, OtherWordsFindWhatIsMeant) {
    const auto first_for = [&](const char* query) {
        view.palette.query = query;
        const std::vector<std::string> found = lines();
        return found.empty() ? std::string() : found.front();
    };
    EXPECT_EQ(first_for("repair"), "Remove the deliberate mistake");
    EXPECT_EQ(first_for("font"), "Everything larger");
    EXPECT_EQ(first_for("text smaller"), "Everything smaller");
    EXPECT_EQ(first_for("theme"), "Light or dark");
    EXPECT_EQ(first_for("fullscreen"), "The picture alone");
    EXPECT_EQ(first_for("exit"), "Quit");
    for (const MistakeInfo& info : mistakes()) {
        first_for(std::string(info.name).c_str());
        EXPECT_THAT(lines(), testing::Contains("Break it: " + std::string(info.title))) << info.name;
    }
    EXPECT_EQ(first_for("ablation"), "Show the view Knock-out");
    EXPECT_TRUE(first_for("gpt-tiny").starts_with("Open the example ")) << "as the menu of models names it";
    // "qt" occurs in order in "Quit", but nobody would type that.
    view.palette.query = "qui";
    EXPECT_THAT(lines(), testing::Contains("Quit"));
    view.palette.query = "uit";
    EXPECT_THAT(lines(), testing::Not(testing::Contains("Quit")));
    view.palette.query = "padding";
    EXPECT_EQ(lines().front(), "Padding mask on or off");
}

TEST_F(PaletteTest, ArrowsChooseEscapeClosesAndLettersAreNoShortcuts) {
    open();
    type("mask", ui_frame);
    EXPECT_EQ(view.palette.query, "mask");
    EXPECT_EQ(view.view, View::Step);
    const std::vector<std::string> before = lines();
    ASSERT_GT(before.size(), 2U);
    press(Key::Down, ui_frame);
    EXPECT_EQ(view.palette.chosen, 1);
    press(Key::Up, ui_frame);
    press(Key::Up, ui_frame);
    EXPECT_EQ(view.palette.chosen, 0);
    const AxisSelection cell = view.locked;
    press(Key::Escape, ui_frame);
    EXPECT_FALSE(view.palette.open);
    EXPECT_EQ(view.locked, cell) << "Escape closes the palette and nothing else";
    open();
    type("no such thing at all", ui_frame);
    press(Key::Enter, ui_frame);
    EXPECT_FALSE(view.palette.open);
}

TEST_F(PaletteTest, TakesThePlaceOfTheHelp) {
    press(Key::F1, ui_frame);
    frames(2, ui_frame);
    type("head", ui_frame);
    ASSERT_EQ(view.help_page.search, "head") << "the help has the keyboard";
    open();
    type("grid", ui_frame);
    EXPECT_EQ(view.palette.query, "grid");
    EXPECT_FALSE(view.help);
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(view.view, View::Grid);
    EXPECT_EQ(view.help_page.search, "head");
}

/// A tooltip would cover the lines that follow.
TEST_F(PaletteTest, ExplainsALineBelowTheList) {
    const auto below_the_list = [&](const char* query) {
        open();
        type(query, ui_frame);
        frames(3, ui_frame);
        const ImGuiWindow *palette = find_window("##palette"), *list = find_window("##palette_lines");
        move_mouse(list->Pos.x + 200, list->Pos.y + 10);
        frames(120, ui_frame);
        EXPECT_EQ(find_window("##Tooltip"), nullptr) << query;
        const float height = palette->Pos.y + palette->Size.y - (list->Pos.y + list->Size.y);
        press(Key::Escape, ui_frame);
        frames(2, ui_frame);
        return height;
    };
    const float nothing = below_the_list("everything larger");
    EXPECT_NEAR(nothing, theme.px(14), 2) << "its name says it all";
    EXPECT_GT(below_the_list("remove the deliberate mistake"), nothing + theme.px(14)) << "\"Computes correctly again.\"";
}

TEST_F(PaletteTest, WhatWasDoneLastStandsFirst) {
    run("undo everything that is not there");
    EXPECT_TRUE(view.palette.recent.empty());
    run("padding");
    run("head 2");
    EXPECT_THAT(view.palette.recent, testing::ElementsAre("Go to head 2", "Padding mask on or off"));
    view.palette.query.clear();
    const std::vector<std::string> now_listed = lines();
    ASSERT_GT(now_listed.size(), 2U);
    EXPECT_EQ(now_listed[0], "Go to head 2");
    EXPECT_EQ(now_listed[1], "Padding mask on or off");
}

TEST_F(PaletteTest, ListsOnlyWhatCanBeDone) {
    EXPECT_THAT(lines(), testing::Not(testing::Contains("Undo")));
    EXPECT_THAT(lines(), testing::Not(testing::Contains("Next step of the lesson")));
    EXPECT_THAT(lines(), testing::Not(testing::Contains("Go to sequence 3")));
    type("c", ui_frame);
    frames(2, ui_frame);
    EXPECT_THAT(lines(), testing::Contains("Undo"));
    open_lesson(view, session->document(), find_lesson("masks"));
    EXPECT_THAT(lines(), testing::Contains("Next step of the lesson"));
}

/// Runs every available action; the interface must survive.
TEST_F(PaletteTest, EveryActionRunsFromThePalette) {
    std::vector<Action> all;
    with_context([&](PanelContext& context) { all = all_actions(context); });
    ASSERT_GT(all.size(), 80U);
    for (const Action& action : all) {
        with_context([&](PanelContext& context) {
            if (action.can_run(context)) action.run(context);
        });
        frames(2, ui_frame);
        ASSERT_NE(session->snapshot()->trace, nullptr) << action.name;
        session->apply({command::PauseTraining{}, ""});
    }
}

}  // namespace
}  // namespace attn::app::test
