/// A single table of actions for keys, sheet and palette: keys are unambiguous, and everything can be found by name.

#include "app/panels/actions/control_actions.hpp"
#include "app/panels/actions/matching.hpp"
#include "app/panels/actions/palette.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

Action named(std::string name, std::string also = "") { return {.name = std::move(name), .also = std::move(also)}; }
int rank_of(std::string_view typed, const Action& action) {
    const std::optional<Match> found = match(action, typed);
    return found ? found->rank : 1000;
}

TEST(Matching, AWordIsTheBeginningOfAWordOrInsideOfItOrOneSlipAway) {
    const Action causal = named("Causal mask on or off");
    for (const char* typed : {"", "causal", "CAUS", "mask causal", "ma", "ausal", "cuasal", "casual", "causl"})
        EXPECT_TRUE(match(causal, typed)) << typed;
    for (const char* typed : {"cmo", "lasuac", "causal heads", "sk", "xxusal"}) EXPECT_FALSE(match(causal, typed)) << typed;
    EXPECT_FALSE(match(named("Break it: Padding on queries instead of keys"), "repair"));
    EXPECT_FALSE(match(named("Follow the newest step"), "font"));
    EXPECT_TRUE(match(named("Go to attention_out, layer 0"), "go attention_out"));
    EXPECT_TRUE(match(named("Compare with the unmasked state"), "mask")) << "inside, from four letters on";
    EXPECT_FALSE(match(named("Compare with the unmasked state"), "mas"));
}

TEST(Matching, TheNameComesBeforeOtherNamesAndTheseBeforeWhatIsInside) {
    const Action name = named("Head"), begins = named("Head search"), word = named("Go to head 1"), other = named("Go on", "head"),
                 inside = named("The arrowhead");
    EXPECT_LT(rank_of("head", name), rank_of("head", other));
    EXPECT_LT(rank_of("head", other), rank_of("head", begins)) << "another name, in full";
    EXPECT_LT(rank_of("head", begins), rank_of("head", word));
    EXPECT_LT(rank_of("head", word), rank_of("head", inside));
    EXPECT_LT(rank_of("undo", named("Undo")), rank_of("undo", named("Unmasked, and others", "undone")));
}

TEST(Matching, KnowsWhetherAllWordsOfTheNameWereTyped) {
    const Action parts = named("Feed-forward layer on or off");
    EXPECT_FALSE(match(parts, "feed forward")->in_full);
    EXPECT_FALSE(match(parts, "feed-forw layer")->in_full);
    EXPECT_TRUE(match(parts, "feed forward layer")->in_full);
    EXPECT_TRUE(match(named("Quit", "exit"), "exit")->in_full);
    EXPECT_FALSE(match(named("Delete every edit", "remove edits"), "edit")->in_full);
}

TEST(Matching, CountsSlips) {
    EXPECT_EQ(slips_between("tempratur", "temperatu"), 2);
    EXPECT_EQ(slips_between("tempratur", "temperatur"), 1);
    EXPECT_EQ(slips_between("cuasal", "causal"), 1);
    EXPECT_EQ(slips_between("", "abc"), 3);
    EXPECT_EQ(slips_between("same", "same"), 0);
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
            for (const PaletteLine& line : palette_lines(context, all)) names.push_back(line.action->name);
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
    run("grid");
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
    EXPECT_TRUE(view.panes.left_open);
    EXPECT_EQ(view.settings.search.text, "") << "else it might not be listed";
    // From a view that has settings of its own, or others, the way leads to the view that has them.
    view.view = View::Train;
    run("settings softmax");
    EXPECT_EQ(view.view, View::Step);
    run("settings lines");
    EXPECT_EQ(view.view, View::Lines);
}

TEST_F(PaletteTest, HeadsAreFoundByWhatTheyDo) {
    view.palette.query = "sink";
    EXPECT_THAT(lines(), testing::IsSupersetOf({"Find heads: sink", "Leave out the first key: on or off", "Settings: Find heads"}));
    view.palette.query = "find heads alignment";
    EXPECT_THAT(lines(), testing::Not(testing::Contains("Find heads: alignment"))) << "this model has no cross-attention";
    open_example("translation");
    EXPECT_THAT(lines(), testing::Contains("Find heads: alignment"));
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
    // Words that found nothing or the wrong thing before, beside those of FindsFirstWhatIsMeant.
    const std::vector<std::pair<const char*, const char*>> expected = {
        {"tempratur", "Softmax temperature"},
        {"diff", "Compare, or stop comparing"},
    };
    open_example("gpt-tiny");
    type("c", ui_frame);
    frames(2, ui_frame);
    for (const auto& [typed, name] : expected) EXPECT_EQ(first_for(typed), name) << typed;
    EXPECT_TRUE(first_for("gpt-tiny").starts_with("Open the example ")) << "as the menu of models names it";
    view.palette.query = "padding";
    EXPECT_EQ(lines().front(), "Padding mask on or off");
}

/// What must be first for what is typed, as the specification of the first minute lists it. A name may be the beginning of one.
TEST_F(PaletteTest, FindsFirstWhatIsMeant) {
    using Row = std::pair<const char*, std::vector<const char*>>;
    const std::vector<Row> rows = {
        // File, edit.
        {"New document", {"new", "new document"}},
        {"Open a recent file", {"recent", "recent files"}},
        {"Restore unsaved work", {"restore", "autosave", "crash"}},
        {"Export the lesson as a page", {"html", "web page"}},
        {"Undo", {"undo", "revert"}},
        {"Redo", {"redo", "again"}},
        {"Back along the trail", {"back"}},
        {"Forth along the trail", {"forward"}},
        {"Copy the value", {"copy", "copy number", "value"}},
        {"Copy the program as NumPy", {"numpy", "code"}},
        {"Copy the program as PyTorch", {"pytorch"}},
        {"Export what is shown", {"export", "picture", "png", "svg", "csv", "print", "pdf"}},
        {"This example afresh", {"reset", "start over"}},
        {"Open a file", {"open", "load", "import"}},
        {"Open a model", {"model", "hugging face", "gguf"}},
        {"Save the document", {"save", "store", "checkpoint"}},
        {"Save the document as", {"save as"}},
        {"Quit", {"quit", "exit", "close"}},
        // Text.
        {"Edit the text", {"text", "own text", "own words", "sentence", "type", "prompt", "paste"}},
        {"Examples and texts", {"example", "examples", "language", "translation"}},
        {"Add a second text", {"second text", "batch", "add"}},
        {"All words that the model knows", {"vocabulary", "known words", "unknown"}},
        {"Settings: Tokens", {"tokens", "tokenizer", "pieces", "byte"}},
        {"Go to tokens", {"word", "words", "ids"}},
        // Masks, softmax.
        {"Causal mask", {"causal", "future", "triangle", "ahead"}},
        {"Padding mask", {"padding", "pad"}},
        {"Settings: Masks", {"mask", "masks"}},
        {"Settings: Other masks", {"window", "sliding", "prefix", "block", "paint"}},
        {"Softmax temperature", {"temperature"}},
        {"Settings: Softmax", {"softmax"}},
        {"Settings: Sampler", {"sampling"}},
        {"Sampler: top-k", {"top-k"}},
        {"Sampler: top-p", {"top-p"}},
        {"Sampler: min-p", {"min-p"}},
        {"Seed of the dropout", {"seed"}},
        {"Dropout", {"dropout"}},
        {"What “random weights” means", {"random", "untrained"}},
        // Where.
        {"Next head", {"head", "heads"}},
        {"Go to head 3", {"head 3"}},
        {"L2 H3", {"L2 H3"}},
        {"Next layer", {"layer", "deeper"}},
        {"Go to layer 2", {"layer 2"}},
        {"Map of the model", {"map", "overview"}},
        {"Settings: Find heads", {"previous", "sink", "induction", "repeat", "pattern"}},
        {"Go to weights", {"weights", "attention", "who looks"}},
        {"Go to scores", {"scores", "dot product"}},
        {"Go to q", {"query", "qkv"}},
        {"Go to k", {"key"}},
        {"Go to norm_1", {"norm", "layernorm"}},
        {"Go to ffn_out", {"feed forward", "mlp", "ffn"}},
        {"Go to residual_1", {"residual", "skip"}},
        {"Go to embedding", {"embedding", "vector"}},
        {"Settings: Parts", {"position", "rotary", "alibi"}},
        {"Go to probabilities", {"next", "answer", "probabilities", "predict"}},
        // Views.
        {"Show the view Heads, all layers", {"grid", "all heads"}},
        {"Show the view Lines", {"lines", "arcs", "bertviz"}},
        {"Show the view Write", {"write", "generate", "continue", "branch", "fill in"}},
        {"Show the view Totals", {"totals", "rollout"}},
        {"Show the view Lens", {"lens", "logit lens", "guess"}},
        {"Show the view Knock-out", {"knock out", "ablation", "patching", "importance", "remove head", "leave out"}},
        {"Show the view Compare weights", {"precision", "quantized", "compare weights"}},
        {"Show the view Check my code", {"doctor", "check", "bug", "nan", "wrong", "my code"}},
        {"Compare, or stop comparing", {"compare", "difference", "before after"}},
        {"Pin this state", {"pin"}},
        {"Settings: Changes", {"what if", "edit", "change"}},
        {"Settings: Break it on purpose", {"break", "mistake"}},
        // Train.
        {"Branch from this step", {"branch run", "fork"}},
        {"Lowest held-out loss", {"best", "overfit", "lowest"}},
        {"Show the view Train", {"train", "learn", "fit", "loss", "accuracy", "curve"}},
        {"Start or pause the training", {"start", "pause", "resume", "stop"}},
        {"One training step", {"step"}},
        {"Learning rate", {"learning rate", "rate"}},
        {"Batch size", {"batch size"}},
        {"Warm-up", {"warm-up"}},
        {"Weight decay", {"weight decay"}},
        {"Schedule of the learning rate", {"schedule"}},
        {"Steps of the run", {"steps"}},
        {"Length of the task", {"length"}},
        {"Width of the run", {"width"}},
        {"Optimizer of the run", {"optimizer", "adam"}},
        {"Runs", {"run", "runs", "rename", "overlay"}},
        {"Play through the run", {"replay", "rewind"}},
        {"Follow the newest step", {"follow", "newest"}},
        // Window, help.
        {"Colour scale", {"scale", "range", "colour scale"}},
        {"Make a lesson step", {"make lesson", "teach"}},
        {"Record your own code", {"record", "own code", "notebook", "attnscope.py"}},
        {"Light or dark", {"theme", "dark", "light", "night"}},
        {"Colours of", {"colour", "color", "viridis", "contrast", "blind"}},
        {"Everything larger", {"font", "size", "bigger", "zoom"}},
        {"Everything smaller", {"smaller"}},
        {"The picture alone", {"full screen", "beamer", "projector", "present"}},
        {"Settings: hide or show", {"panes", "hide", "sidebar"}},
        {"Search the settings", {"settings", "options", "preferences"}},
        {"Histogram of the map", {"histogram", "statistics", "mean"}},
        {"Show the view Heads", {"entropy", "spread"}},
        {"Values or gradients", {"gradient", "backward"}},
        {"Memory and speed", {"memory", "speed", "faster", "gpu", "threads"}},
        {"Take the tour", {"lesson", "lessons", "course", "tour", "start here"}},
        {"Keys and hints", {"help", "keys", "shortcuts", "glossary", "why", "what is", "shape", "version", "licence", "about"}},
    };
    open_example("stories");
    for (const auto& [name, words] : rows)
        for (const char* typed : words) {
            view.palette.query = typed;
            const std::vector<std::string> found = lines();
            EXPECT_THAT(found.empty() ? std::string() : found.front(), testing::StartsWith(name)) << typed;
        }
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

/// Where nothing is typed; what is typed is found also where it cannot act.
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

TEST_F(PaletteTest, WhatCannotActStaysListedAndSaysWhy) {
    open();
    type("undo", ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(lines().front(), "Undo");
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    EXPECT_TRUE(view.palette.open) << "so that the reason can be read";
    ASSERT_NE(view.palette.list, nullptr);
    const PaletteLine& line = view.palette.list->lines.front();
    EXPECT_FALSE(line.can_run);
    EXPECT_EQ(line.action->reason(), "There is nothing to undo.");
    type(" x", ui_frame);
    EXPECT_EQ(view.palette.query, "undo x") << "one types on";
    for (const Action& action : actions()) EXPECT_FALSE(action.reason().empty()) << action.name;
}

/// The list is made once for what is typed, not in every frame.
TEST_F(PaletteTest, IsListedOncePerQuery) {
    open();
    type("mask", ui_frame);
    frames(2, ui_frame);
    const auto list = view.palette.list;
    ASSERT_NE(list, nullptr);
    const PaletteLine* const first = list->lines.data();
    frames(5, ui_frame);
    EXPECT_EQ(view.palette.list, list);
    EXPECT_EQ(list->lines.data(), first);
    type("s", ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(list->query, "masks");
}

/// A switch that was flipped from the palette says so for a moment, and takes it back.
TEST_F(PaletteTest, WhatWasSwitchedIsToldWithUndo) {
    const bool causal = session->document().forward.masks.causal;
    run("causal mask");
    ASSERT_NE(session->document().forward.masks.causal, causal);
    const auto at = find_item(
        "##told", {"Undo##told"},
        [this](float x, float y) {
            now -= 1.0 / 60;  // one looks for it in no time
            move_mouse(x, y);
            frame(ui_frame);
        },
        12, 6);
    ASSERT_TRUE(at);
    click(at->x, at->y, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(session->document().forward.masks.causal, causal);
    run("causal mask");
    frames(100, ui_frame);
    EXPECT_EQ(find_window("##told"), nullptr);
    view.view = View::Step;
    run("grid");
    frames(2, ui_frame);
    EXPECT_EQ(find_window("##told"), nullptr) << "nothing was changed";
}

/// A line of a control opens its view, unfolds its section and frames it: exactly the control, where the mouse finds it.
TEST_F(PaletteTest, EveryControlThatIsListedIsFramed) {
    open_example("stories");
    std::vector<Action> controls;
    add_control_actions(controls);
    ASSERT_GT(controls.size(), 15U);
    const auto is_meant = [&](const FocusStop& stop) {
        const std::string& words = view.palette.framed.words;
        const std::vector<FocusStop>& stops = view.focus.stops();
        const bool alone = std::any_of(stops.begin(), stops.end(), [&](const FocusStop& one) { return one.words == words; });
        return alone ? stop.words == words : stop.words.starts_with(words + " ");
    };
    const auto expect_frame_of_what_is_seen = [&] {
        ASSERT_TRUE(view.drawn.framed.has_value());
        const Box frame = *view.drawn.framed;
        move_mouse((frame.min.x + frame.max.x) / 2, frame.max.y - 14);
        frames(2, ui_frame);
        const ImGuiWindow* top = ImGui::GetCurrentContext()->HoveredWindow;
        ASSERT_NE(top, nullptr);
        std::optional<Box> own;
        for (const FocusStop& stop : view.focus.stops()) {  // one, or several alternatives
            if (!is_meant(stop) || stop.window != top->Name) continue;
            if (!own) own = Box{{stop.left, stop.top}, {stop.right, stop.bottom}};
            own->min = {std::min(own->min.x, stop.left), std::min(own->min.y, stop.top)};
            own->max = {std::max(own->max.x, stop.right), std::max(own->max.y, stop.bottom)};
        }
        ASSERT_TRUE(own.has_value()) << "something else lies there: " << top->Name;
        constexpr float kEdge = 4.5F, kLabel = 18;
        EXPECT_NEAR(frame.min.x, own->min.x, kEdge);
        EXPECT_NEAR(frame.max.x, own->max.x, kEdge);
        EXPECT_NEAR(frame.max.y, own->max.y, kEdge);
        EXPECT_LE(frame.min.y, own->min.y);
        EXPECT_GE(frame.min.y, own->min.y - kEdge - kLabel);
        const ImRect& visible = top->InnerClipRect;
        EXPECT_GE(frame.min.y + kEdge, visible.Min.y) << "it is scrolled away";
        EXPECT_LE(frame.max.y - kEdge, visible.Max.y) << "it is scrolled away";
        for (const FocusStop& stop : view.focus.stops())
            if (view.focus.on(stop.id)) {
                EXPECT_EQ(stop.window, top->Name) << "one behind it has the focus: " << stop.words;
            }
    };
    struct Case {
        ImVec2 size;
        bool with_run = false;  // which leaves its settings less room
    };
    for (const auto& [size, with_run] : {Case{{1600, 1000}}, Case{{1280, 720}}, Case{{1280, 720}, true}}) {
        ImGui::GetIO().DisplaySize = size;
        if (with_run) {
            session->apply({command::StepTraining{}, ""});
            session->wait_for_training();
        }
        for (const Action& control : controls) {
            SCOPED_TRACE(fmt::format("{} at {} x {}", control.name, size.x, size.y));
            move_mouse(2, 2);
            view.view = View::Heads;
            view.panes.left_open = false;
            for (const char* section : {"softmax", "sampler", "model", "lines", "run optimizer", "run model", "run stop"})
                view.settings.folded.insert(section);
            session->apply({command::SetForward{session->document().forward}, ""});
            with_context([&](PanelContext& context) {
                ASSERT_TRUE(control.can_run(context)) << control.name;
                control.run(context);
            });
            frames(6, ui_frame);
            expect_frame_of_what_is_seen();
            now += 3;
            frames(2, ui_frame);
            EXPECT_FALSE(view.drawn.framed.has_value());
        }
    }
}

/// Today's "feed forward" and Enter would otherwise replace the trained weights.
TEST_F(PaletteTest, WhatDiscardsSomethingNeedsItsOwnWords) {
    open_example("stories");
    const Document before = session->document();
    const auto enter = [&](const char* query) {
        open();
        type(query, ui_frame);
        press(Key::Enter, ui_frame);
        frames(2, ui_frame);
        const bool ran = !view.palette.open;
        view.palette.open = false;
        frames(2, ui_frame);
        return ran;
    };
    EXPECT_TRUE(enter("feed forward"));
    EXPECT_EQ(view.stage.stage, Stage::FfnOut) << "which goes there";
    EXPECT_EQ(session->document(), before);
    EXPECT_FALSE(enter("residual additio")) << "its name is not complete";
    EXPECT_EQ(session->document(), before);
    EXPECT_TRUE(enter("residual additions on or off"));
    EXPECT_FALSE(session->document() == before);
    session->apply({command::Undo{}, ""});
    session->wait();
    // The arrow keys are a choice, too.
    open();
    type("biases of q", ui_frame);
    press(Key::Down, ui_frame);
    press(Key::Up, ui_frame);
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    EXPECT_FALSE(view.palette.open);
}

TEST_F(PaletteTest, ListsFewOfAKindUnlessTheyAreAskedFor) {
    const auto count = [&](const char* query, std::string_view begins) {
        view.palette.query = query;
        const std::vector<std::string> found = lines();
        return std::count_if(found.begin(), found.end(), [&](const std::string& name) { return name.starts_with(begins); });
    };
    EXPECT_LE(count("trained", "Open the example"), 3);
    EXPECT_GT(count("example", "Open the example"), 3);
    EXPECT_LE(count("mask", "Break it"), 3);
    EXPECT_GT(count("break", "Break it"), 3);
}

TEST_F(PaletteTest, WhereNothingIsFoundItNamesWhatIsNearest) {
    std::vector<std::string> nearest;
    with_context([&](PanelContext& context) {
        const std::vector<Action> all = all_actions(context);
        nearest = nearest_names("Cusal mxsk", all);
    });
    EXPECT_EQ(nearest.size(), 3U);
    EXPECT_EQ(nearest.front(), "Causal mask on or off");
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
