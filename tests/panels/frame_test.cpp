/// The whole interface with simulated mouse and keyboard; checks the resulting commands and view.

#include "app/panels/frame/frame.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>

#include "app/panels/edit/paint_mask.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/pane.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/files/settings.hpp"
#include "app/session/session.hpp"
#include "tests/support/fake_computation.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

class FrameTest : public InterfaceFixture {
protected:
    FrameTest() { carry_out = false; }

    template <class What>
    const What* last_command() const {
        return commands.empty() ? nullptr : std::get_if<What>(&commands.back().what);
    }
};

/// The pass over a changed text takes long: what belongs to the text before fades, but not at once, because quick passes would flicker.
TEST_F(FrameTest, FadesNumbersOfTheTextBefore) {
    Gate gate;
    session = std::make_unique<Session>(
        open_preset("gpt-tiny"), [] {}, engine_behind(gate));
    session->wait();
    instant = false;
    const auto faded = [&] {
        frames(1, ui_frame);
        std::vector<std::string> found;
        for (const char* name : {"##old_centre", "##old_strip", "##old_cell"})
            if (const ImGuiWindow* window = find_window(name); window != nullptr && window->Active) found.emplace_back(name);
        return found;
    };
    frames(30, ui_frame);
    EXPECT_TRUE(faded().empty());
    gate.close();
    session->apply({command::SetTexts{{"another text"}, {}}, ""});
    EXPECT_TRUE(faded().empty()) << "too early";
    EXPECT_LT(seconds_at_rest(view, now), 0.3) << "a frame is needed to fade";
    frames(30, ui_frame);
    EXPECT_EQ(faded(), (std::vector<std::string>{"##old_centre", "##old_strip", "##old_cell"}));
    view.view = View::Write;
    EXPECT_EQ(faded(), std::vector<std::string>{"##old_strip"}) << "tokens are shown as they are written";
    view.view = View::Step;
    gate.open();
    session->wait();
    EXPECT_TRUE(faded().empty());
}

/// What a pane shows may grow without any input, as when an explanation is ready: its scroll bar does not wait for the mouse.
TEST_F(FrameTest, AScrollBarComesAtOnce) {
    open_example("gpt-tiny");
    const auto rests_with = [&](std::int64_t lines) {
        view.head = lines;
        frame([&] {
            with_context([](PanelContext& context) {
                context.view.drawn = {};
                pane(context, "##grows", {{0, 0}, {200, 300}}, PaneLook::Card, {10, 10}, [](PanelContext& inner) {
                    ImGui::Dummy({50, 10 * static_cast<float>(inner.view.head)});
                });
            });
        });
        return seconds_at_rest(view, now) > 0;
    };
    rests_with(5);
    EXPECT_TRUE(rests_with(5));
    EXPECT_FALSE(rests_with(80));
    EXPECT_TRUE(rests_with(80));
    EXPECT_FALSE(rests_with(5)) << "and it goes";
    EXPECT_TRUE(rests_with(5));
}

TEST_F(FrameTest, EveryViewCanBeDrawnBeforeThereIsATrace) {
    Gate gate;
    gate.close();
    session = std::make_unique<Session>(
        open_preset("gpt-tiny"), [] {}, engine_behind(gate));
    instant = false;
    for (const ViewInfo& info : views()) {
        view.view = info.view;
        frames(2, ui_frame);
    }
    EXPECT_EQ(session->snapshot()->trace, nullptr);
    gate.open();
    session->wait();
    frames(2, ui_frame);
    EXPECT_NE(session->snapshot()->trace, nullptr);
}

TEST_F(FrameTest, TheMaskKeysEmitChangedMasks) {
    open_example("causal-attention");
    type("c", ui_frame);
    const auto* change = last_command<command::SetForward>();
    ASSERT_NE(change, nullptr);
    EXPECT_FALSE(change->forward.masks.causal);
    EXPECT_TRUE(change->forward.masks.padding);
    type("p", ui_frame);
    ASSERT_NE(last_command<command::SetForward>(), nullptr);
    EXPECT_FALSE(last_command<command::SetForward>()->forward.masks.padding);
}

TEST_F(FrameTest, ArrowsStepThroughTheStages) {
    open_example("causal-attention");
    press(Key::Home, ui_frame);
    EXPECT_EQ(view.stage.stage, Stage::Tokens);
    press(Key::Right, ui_frame);
    EXPECT_EQ(view.stage.stage, Stage::Embedding);
    press(Key::Left, ui_frame);
    EXPECT_EQ(view.stage.stage, Stage::Tokens);
    press(Key::End, ui_frame);
    EXPECT_EQ(view.stage, trace().stages.back().id);
    EXPECT_TRUE(commands.empty());
}

TEST_F(FrameTest, SpacePlaysToTheEndAndStops) {
    open_example("numpy-single-head");
    press(Key::Home, ui_frame);
    press(Key::Space, ui_frame);
    EXPECT_TRUE(view.playing);
    for (int i = 0; i < 60 * 60 && view.playing; ++i) frame(ui_frame);
    EXPECT_FALSE(view.playing);
    EXPECT_EQ(view.stage, trace().stages.back().id);
}

TEST_F(FrameTest, HoveringReadsACellAndClickingLocksIt) {
    open_example("causal-attention");
    view.stage = {Stage::Weights, 0};
    frames(2, ui_frame);
    const auto map = largest_map();
    ASSERT_EQ(map.request.data.rows, 10);
    ASSERT_EQ(map.request.data.cols, 10);
    const float x = map.min.x + (map.max.x - map.min.x) * 0.35F, y = map.min.y + (map.max.y - map.min.y) * 0.85F;  // row 8, column 3
    move_mouse(x, y);
    frames(2, ui_frame);
    EXPECT_EQ(view.hovered.on(Axis::T), 8);
    EXPECT_EQ(view.hovered.on(Axis::S), 3);
    EXPECT_EQ(view.locked.on(Axis::T), 6);
    click(x, y, ui_frame);
    EXPECT_EQ(view.locked.on(Axis::T), 8);
    EXPECT_EQ(view.locked.on(Axis::S), 3);
    move_mouse(2, 2);
    frames(2, ui_frame);
    EXPECT_TRUE(view.hovered.empty());
    press(Key::Escape, ui_frame);
    EXPECT_TRUE(view.locked.empty());
}

TEST_F(FrameTest, TheAxisThatIsSummedOverChoosesNoColumnOfTheResult) {
    open_example("multi-head");
    view.stage = {Stage::AttentionOut, 0};
    view.locked.clear();
    frames(2, ui_frame);
    const auto result = largest_map();
    const auto concat = std::find_if(canvas.calls.begin(), canvas.calls.end(), [&](const NullCanvas::Call& call) {
        return call.max.x < result.min.x && call.min.y == result.min.y && call.request.data.cols == result.request.data.cols;
    });
    ASSERT_NE(concat, canvas.calls.end());
    move_mouse((concat->min.x + concat->max.x) / 2, concat->min.y + 5);
    frames(2, ui_frame);
    EXPECT_EQ(view.hover_shown.on(Axis::T), 0) << "a row of concat is one of the result";
    EXPECT_EQ(view.hover_shown.on(Axis::C), std::nullopt) << "its columns are all of them in every number";
    move_mouse(result.max.x - 5, result.min.y + 5);
    frames(2, ui_frame);
    EXPECT_EQ(view.hover_shown.on(Axis::C), result.request.data.cols - 1);
}

TEST_F(FrameTest, PaintingACellForbidsIt) {
    open_example("causal-attention");
    view.stage = {Stage::Weights, 0};
    view.paint.on = true;
    frames(2, ui_frame);
    const auto map = largest_map();
    click(map.min.x + (map.max.x - map.min.x) * 0.05F, map.min.y + (map.max.y - map.min.y) * 0.45F, ui_frame);
    const auto* change = last_command<command::SetForward>();
    ASSERT_NE(change, nullptr);
    ASSERT_EQ(change->forward.masks.painted.size(), 1U);
    EXPECT_EQ(change->forward.masks.painted[0], (PaintedCell{4, 0}));
}

TEST_F(FrameTest, AStrokePaintsEveryCellItPassesButThoseForbiddenAnyway) {
    open_example("causal-attention");
    carry_out = true;
    view.stage = {Stage::Weights, 0};
    view.paint.on = true;
    frames(3, ui_frame);  // a remark above the map moves it
    const auto map = largest_map();
    const auto n = static_cast<float>(map.request.data.rows);
    const auto centre = [&](float row, float col) {
        return ImVec2(map.min.x + (map.max.x - map.min.x) * (col + 0.5F) / n, map.min.y + (map.max.y - map.min.y) * (row + 0.5F) / n);
    };
    // One fast move from the last row's first cell to the first row's last: half of these cells are in the future.
    const ImVec2 from = centre(n - 1, 0), to = centre(0, n - 1);
    drag(from, to, ui_frame, 1);
    const std::vector<PaintedCell> painted = session->document().forward.masks.painted;
    for (std::int32_t key = 0; key < static_cast<std::int32_t>(n); ++key) {
        const PaintedCell cell{static_cast<std::int32_t>(n) - 1 - key, key};
        EXPECT_EQ(std::find(painted.begin(), painted.end(), cell) != painted.end(), cell.key <= cell.query) << key;
    }
    for (const PaintedCell& cell : painted) EXPECT_LE(cell.key, cell.query);
    EXPECT_TRUE(session->can_undo());
}

TEST_F(FrameTest, PaintingBeginsOnAMap) {
    open_example("causal-attention");
    view.view = View::Heads;
    view.stage = {Stage::Q, 0};
    with_context([](PanelContext& context) { toggle_painting(context); });
    EXPECT_EQ(view.view, View::Step);
    EXPECT_EQ(view.stage, (StageId{Stage::Weights, 0}));
    EXPECT_TRUE(view.paint.on);
}

TEST_F(FrameTest, TypingATextRecomputesWithEveryLetterAndUndoesAtOnce) {
    open_example("causal-attention");
    carry_out = true;
    const std::string before = session->document().texts[0];
    type("t", ui_frame);
    frames(3, ui_frame);
    ASSERT_TRUE(view.text_row.edit.editing);
    type(" c", ui_frame);
    EXPECT_EQ(session->document().texts[0], before + " c");
    EXPECT_EQ(trace().tokens.length, 11);
    EXPECT_TRUE(session->document().forward.masks.causal) << "letters typed into the text are no shortcuts";
    press(Key::Enter, ui_frame);
    EXPECT_FALSE(view.text_row.edit.editing);
    hold_modifiers(true, false);
    press('Z', ui_frame);
    hold_modifiers(false, false);
    EXPECT_EQ(session->document().texts[0], before);
}

TEST_F(FrameTest, EscapeBringsTheTextBack) {
    open_example("causal-attention");
    carry_out = true;
    const std::string before = session->document().texts[0];
    type("t", ui_frame);
    frames(3, ui_frame);
    type(" x", ui_frame);
    press(Key::Escape, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(session->document().texts[0], before);
    EXPECT_FALSE(view.text_row.edit.editing);
}

TEST_F(FrameTest, AnInvalidModelSaysSoAndTheLastGoodPictureStays) {
    open_example("multi-head");
    Config config = session->document().config;
    config.d_model = 15;
    session->apply({command::SetConfig{config}, ""});
    session->wait();
    frames(2, ui_frame);
    EXPECT_FALSE(session->snapshot()->problem.empty());
    EXPECT_EQ(session->snapshot()->problem_field, Field::DModel);
    EXPECT_EQ(trace().config.d_model, 16);
    EXPECT_FALSE(canvas.calls.empty());
}

TEST_F(FrameTest, AGridTileOpensItsHead) {
    open_example("gpt-tiny");
    view.view = View::Grid;
    frames(2, ui_frame);
    // The second tile of the third row, which ends with the mean, in drawing order; the strip's thumbnails come after the tiles.
    ASSERT_GE(canvas.calls.size(), 20U);
    const auto tile = canvas.calls[2 * 5 + 1];
    click((tile.min.x + tile.max.x) / 2, (tile.min.y + tile.max.y) / 2, ui_frame);
    EXPECT_EQ(view.view, View::Step);
    EXPECT_EQ(view.stage, (StageId{Stage::Weights, 2}));
    EXPECT_EQ(view.head, 1);
}

TEST_F(FrameTest, ComparingShowsNowBeforeAndDifference) {
    open_example("causal-attention");
    view.stage = {Stage::Weights, 0};
    type("b", ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(view.compare.source, Compare::Unmasked);
    const Matrix now_map = map_of(view.stage, 0, 0);
    const std::shared_ptr<const Snapshot> before_state = computed(session->states().unmasked);
    const Matrix before_map = ask([&](const NumberDesk& numbers, const Subject&) {
        return numbers.numbers({.of = {before_state->state, before_state.get()}, .stage = view.stage}).map;
    });
    const Matrix difference = ask([&](const NumberDesk& numbers, const Subject&) { return numbers.difference(now_map, before_map).map; });
    ASSERT_FALSE(difference.empty());
    for (std::int64_t t = 0; t < 10; ++t)
        for (std::int64_t s = 0; s < 10; ++s) EXPECT_EQ(difference.at(t, s), now_map.at(t, s) - before_map.at(t, s));
    // A future key had weight in one state and none in the other: a real difference, not a masked cell.
    EXPECT_FALSE(difference.masked(0, 9));
    EXPECT_LT(difference.at(0, 9), 0);
}

TEST_F(FrameTest, AHeadIsOnlyShownWhileTheMouseIsOnItsMap) {
    open_example("causal-attention");
    view.view = View::Heads;
    view.head = 0;
    frames(3, ui_frame);
    std::vector<ImVec2> middles;
    for (const auto& call : canvas.calls)
        if (call.max.x - call.min.x > 60) middles.push_back({(call.min.x + call.max.x) / 2, (call.min.y + call.max.y) / 2});
    ASSERT_GE(middles.size(), 2U);
    click(middles[0].x, middles[0].y, ui_frame);
    frames(2, ui_frame);
    const std::int64_t chosen = view.head;
    std::int64_t other = chosen;
    for (std::size_t i = 1; i < middles.size() && other == chosen; ++i) {
        move_mouse(middles[i].x, middles[i].y);
        frames(3, ui_frame);
        other = view.head;
    }
    ASSERT_NE(other, chosen) << "the cell pane is about the head under the mouse";
    EXPECT_EQ(view.chosen_head(), chosen);
    move_mouse(5, 5);
    frames(3, ui_frame);
    EXPECT_EQ(view.head, chosen);
    EXPECT_FALSE(view.head_under_mouse);
}

TEST_F(FrameTest, MapsOfOneEquationShareTheZoomOfTheAxesTheyShare) {
    open_example("causal-attention");
    struct Case {
        Stage stage;
        bool columns;  ///< the operand beside the result has the same columns
    };
    for (const auto& [stage, columns] : {Case{Stage::Weights, true}, Case{Stage::Scores, false}}) {
        view.stage = {stage, 0};
        frames(2, ui_frame);
        const auto whole = largest_map();
        move_mouse((whole.min.x + whole.max.x) / 2, (whole.min.y + whole.max.y) / 2);
        frame(ui_frame);
        for (int i = 0; i < 5; ++i) wheel(1, ui_frame);
        frames(2, ui_frame);
        const HeatmapRequest result = largest_map().request;
        ASSERT_LT(result.last_row - result.first_row, 6);
        int beside = 0;
        for (const auto& call : canvas.calls) {
            // The operand: in a column at the left of the map, or with the rows of the product; the thumbnails lie below.
            if (call.max.x >= whole.min.x || call.max.y > whole.max.y || call.max.y - call.min.y < 60 || call.min.y < whole.min.y) continue;
            ++beside;
            EXPECT_EQ(call.request.first_row, result.first_row);
            EXPECT_EQ(call.request.last_row, result.last_row);
            EXPECT_EQ(call.request.first_col == result.first_col && call.request.last_col == result.last_col, columns)
                << stage_name({stage});
        }
        EXPECT_EQ(beside, 1) << stage_name({stage});
    }
}

TEST_F(FrameTest, EveryStageOfEveryPresetIsDrawnAtEverySize) {
    for (const Preset& preset : presets()) {
        open_example(preset.name);
        for (const ImVec2 size : {ImVec2(1600, 1000), ImVec2(1280, 720), ImVec2(640, 400), ImVec2(90, 60)}) {
            ImGui::GetIO().DisplaySize = size;
            for (const auto& stage : trace().stages) {
                view.stage = stage.id;
                frame(ui_frame);
            }
            for (const View other : {View::Heads, View::Grid, View::Lines, View::Totals, View::Lens}) {
                view.view = other;
                frames(2, ui_frame);
            }
            view.view = View::Step;
        }
        ImGui::GetIO().DisplaySize = ImVec2(1600, 1000);
    }
}

TEST_F(FrameTest, EveryExampleOpensFromTheMenuWhateverIsShown) {
    carry_out = true;
    std::vector<std::string> opened;
    for (float y = 60; y < 1000; y += 24) {
        open_example("gpt-tiny");
        view.view = View::Step;
        frames(2, ui_frame);
        click(190, 24, ui_frame);
        click(190, y, ui_frame);
        frames(2, ui_frame);
        opened.push_back(session->document().preset);
        ASSERT_NE(trace().find(view.stage), nullptr) << opened.back();
        press(Key::Escape, ui_frame);
    }
    for (const char* preset : {"stories", "llama-tiny", "encoder-decoder"})
        EXPECT_NE(std::find(opened.begin(), opened.end(), preset), opened.end()) << preset << " of " << testing::PrintToString(opened);
}

/// The controls along the top bar from left to right, with the clickable width of each in pixels.
std::vector<std::pair<ImGuiID, int>> controls_at(float y, float width, const std::function<void(float, float)>& hover) {
    constexpr int kStep = 4;
    std::vector<std::pair<ImGuiID, int>> found;
    for (float x = 2; x < width; x += kStep) {
        hover(x, y);
        const ImGuiID id = ImGui::GetCurrentContext()->HoveredIdPreviousFrame;
        if (id == 0) continue;
        if (found.empty() || found.back().first != id) found.emplace_back(id, 0);
        found.back().second += kStep;
    }
    return found;
}

TEST_F(FrameTest, NothingOverlapsInTheTopBarOfANarrowWindow) {
    open_example("causal-attention");
    std::vector<ImGuiID> buttons;  // appearance and help
    for (const View shown : {View::Step, View::Doctor}) {
        for (const float width : {1600.F, 1280.F, 1060.F, 980.F, 900.F}) {
            ImGui::GetIO().DisplaySize = {width, 600};
            view.view = shown;
            frames(2, ui_frame);
            const auto controls = controls_at(24, width, [&](float x, float y) {
                move_mouse(x, y);
                frames(2, ui_frame);
            });
            ASSERT_GE(controls.size(), 2U);
            std::vector<ImGuiID> last;
            for (std::size_t i = controls.size() - 2; i < controls.size(); ++i) {
                EXPECT_GE(controls[i].second, 28) << "a button is there as a whole, in " << width;
                last.push_back(controls[i].first);
            }
            if (buttons.empty()) buttons = last;
            EXPECT_EQ(last, buttons) << "no tab lies over them, in " << width;
            std::vector<ImGuiID> ids;
            for (const auto& [id, pixels] : controls) ids.push_back(id);
            std::sort(ids.begin(), ids.end());
            EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end()) << "one that is cut in two by another, in " << width;
            EXPECT_GE(ids.size(), 9U) << "two menus, two badges, three tabs, what does not fit, two buttons, in " << width;
        }
    }
}

/// Whatever name and badge say, and whether there is something to undo.
TEST_F(FrameTest, TheTabsStayWhereTheyAre) {
    const auto tab_at = [&](const char* name) {
        frames(3, ui_frame);
        for (const FocusStop& stop : view.focus.stops())
            if (stop.label == "tab" && stop.words == name) return std::pair(stop.id, stop.top);
        return std::pair(ImGuiID(0), 0.F);
    };
    const auto left_of = [&](const char* name) {
        const ImGuiID id = tab_at(name).first;
        for (float x = 300; x < 1200; x += 2) {
            move_mouse(x, 24);
            frame(ui_frame);
            if (ImGui::GetCurrentContext()->HoveredId == id) return x;
        }
        return -1.F;
    };
    carry_out = true;
    for (const float width : {1600.F, 1280.F, 1000.F}) {
        ImGui::GetIO().DisplaySize = {width, 900};
        std::set<float> places;
        for (const char* preset : {"stories", "gpt-tiny", "numpy-three-heads", "encoder-decoder"}) {
            open_example(preset);
            places.insert(left_of("Step"));
        }
        type("c", ui_frame);
        places.insert(left_of("Step"));
        EXPECT_EQ(places.size(), 1U) << width << testing::PrintToString(places);
        EXPECT_GT(*places.begin(), 0);
    }
}

/// Undo and redo appear once there is something to undo or redo.
TEST_F(FrameTest, UndoIsThereOnceItCanDoSomething) {
    carry_out = true;
    open_example("causal-attention");
    const auto has = [&](const char* label) {
        frames(3, ui_frame);
        return std::any_of(view.focus.stops().begin(), view.focus.stops().end(),
                           [&](const FocusStop& stop) { return stop.label == label; });
    };
    EXPECT_FALSE(has("##undo"));
    type("c", ui_frame);
    EXPECT_TRUE(has("##undo"));
    EXPECT_FALSE(has("##redo"));
    control('Z');
    EXPECT_TRUE(has("##redo"));
}

/// "random weights" is always said in words.
TEST_F(FrameTest, TheOriginOfTheWeightsIsAlwaysInWords) {
    open_example("gpt-tiny");
    for (const float width : {1600.F, 1280.F, 1000.F, 800.F}) {
        ImGui::GetIO().DisplaySize = {width, 700};
        frames(3, ui_frame);
        const auto at = find_item(
            "##top", {"##origin"},
            [&](float x, float y) {
                move_mouse(x, y);
                frame(ui_frame);
            },
            8, 8);
        ASSERT_TRUE(at) << width;
        const ImGuiID id = ImGui::GetCurrentContext()->HoveredId;
        float from = at->x, to = at->x;
        for (float x = at->x - 150; x < at->x + 150; x += 2) {
            move_mouse(x, at->y);
            frame(ui_frame);
            if (ImGui::GetCurrentContext()->HoveredId != id) continue;
            from = std::min(from, x);
            to = std::max(to, x);
        }
        EXPECT_GT(to - from, 100) << width;
    }
}

/// What can be clicked at first start, and before the first run, as the design of the first minute counts it: tokens, candidates and
/// operands are data, everything else is a control.
TEST_F(FrameTest, TheFirstScreenIsCalm) {
    open_example("stories");
    turn_to(view, opening_look(find_preset("stories"), 0));
    const std::vector<std::string> folded = Settings().folded_parts;
    view.settings.folded.insert(folded.begin(), folded.end());
    frames(4, ui_frame);
    // The numbers of the chosen cell lead to where they come from, as does the title of the operand.
    const auto is_data = [](const FocusStop& stop) {
        return stop.label == "chip" || stop.label == "##next_word" || stop.label == "##operand" || stop.label == "row" ||
               stop.label == "##title";
    };
    const auto count = [&](bool data) {
        return std::count_if(view.focus.stops().begin(), view.focus.stops().end(),
                             [&](const FocusStop& stop) { return stop.reachable && (data || !is_data(stop)); });
    };
    EXPECT_LE(count(true), 85);
    EXPECT_LE(count(false), 56);
    // What a newcomer has to tell apart: alternatives of one kind (tabs, layers, heads, stages, the arrows) count once, and data not at
    // all.
    std::set<std::string> choices;
    for (const FocusStop& stop : view.focus.stops()) {
        if (!stop.reachable || is_data(stop)) continue;
        const bool arrow = stop.label == "##previous" || stop.label == "##next", one_of_row = stop.label == "##one";
        choices.insert(arrow                    ? "arrows"
                       : one_of_row             ? fmt::format("layer or head at {}", stop.top)
                       : stop.label == "button" ? fmt::format("menu {} at {}", stop.words, stop.left)
                                                : stop.label);
    }
    EXPECT_LE(choices.size(), 30U) << testing::PrintToString(choices);
    view.view = View::Train;
    frames(4, ui_frame);
    EXPECT_LE(count(true), 21);
    EXPECT_EQ(find_window("##history"), nullptr) << "no empty box";
}

/// The result of a product, which stands between its two operands.
TEST_F(FrameTest, AProductIsLargeEnoughToRead) {
    open_example("stories");
    view.panes.map = false;
    view.stage = {Stage::Scores, 1};
    const auto drawn = [&](ImVec2 size) {
        ImGui::GetIO().DisplaySize = size;
        frames(3, ui_frame);
        canvas.calls.clear();
        frame(ui_frame);
        const NullCanvas::Call map = largest_map();
        EXPECT_EQ(map.request.data.cols, 17) << "the map of all pairs of words";
        return ImVec2(map.max.x - map.min.x, map.max.y - map.min.y);
    };
    const ImVec2 usual = drawn({1600, 1000}), small = drawn({1280, 720});
    EXPECT_GE(usual.x * usual.y / (1600 * 1000), 0.12F);
    EXPECT_GE(std::min(small.x, small.y) / 17, 17);
}

/// In a low window the blocks above fold, the buttons keep their place at the foot of the pane.
TEST_F(FrameTest, TheButtonsOfTheCellAreNeverFolded) {
    for (const float height : {1000.F, 720.F, 660.F}) {
        ImGui::GetIO().DisplaySize = {1280, height};
        open_example("stories");
        turn_to(view, opening_look(find_preset("stories"), 0));
        std::set<float> places;
        for (const Stage stage : {Stage::Scores, Stage::Masked, Stage::Weights, Stage::Context}) {
            view.stage.stage = stage;
            frames(4, ui_frame);
            const auto& stops = view.focus.stops();
            const auto found =
                std::find_if(stops.begin(), stops.end(), [](const FocusStop& stop) { return stop.label == "Change this cell"; });
            ASSERT_NE(found, stops.end()) << stage_name({stage}) << height;
            EXPECT_LE(found->bottom, find_window("##cell")->Rect().Max.y) << stage_name({stage}) << height;
            places.insert(found->top);
        }
        EXPECT_EQ(places.size(), 1U) << height;
    }
    const auto has_scores = [&] {
        return find_item(
                   "##cell_blocks", {"q · k", "row"},
                   [this](float x, float y) {
                       move_mouse(x, y);
                       frame(ui_frame);
                   },
                   60, 6)
            .has_value();
    };
    ImGui::GetIO().DisplaySize = {1280, 660};
    view.stage.stage = Stage::Weights;
    frames(4, ui_frame);
    EXPECT_FALSE(has_scores()) << "folded";
    const auto& stops = view.focus.stops();
    const auto heading = std::find_if(stops.begin(), stops.end(), [](const FocusStop& stop) { return stop.words == "How it came about"; });
    ASSERT_NE(heading, stops.end());
    click(heading->left + 20, (heading->top + heading->bottom) / 2, ui_frame);
    frames(3, ui_frame);
    EXPECT_TRUE(has_scores()) << "unfolded";
}

/// The pane of the chosen cell: its number in the stages before leads there, with the same cell, and the trail leads back.
TEST_F(FrameTest, HowANumberCameAboutLeadsToTheStagesBefore) {
    open_example("stories");
    turn_to(view, opening_look(find_preset("stories"), 0));
    frames(3, ui_frame);
    const StageId weights = view.stage;
    const AxisSelection cell = view.locked;
    const auto at = find_item(
        "##cell_blocks", {"q · k", "row"},
        [this](float x, float y) {
            move_mouse(x, y);
            frame(ui_frame);
        },
        60, 6);
    ASSERT_TRUE(at);
    click(at->x, at->y, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(view.stage, of_same_attention(weights, Stage::Scores));
    EXPECT_EQ(view.locked.on(Axis::T), cell.on(Axis::T));
    EXPECT_EQ(view.locked.on(Axis::S), cell.on(Axis::S));
    // The way stands beside the title, each place of it a button.
    std::vector<FocusStop> way;
    std::copy_if(view.focus.stops().begin(), view.focus.stops().end(), std::back_inserter(way),
                 [](const FocusStop& stop) { return stop.label == "##trail"; });
    ASSERT_EQ(way.size(), 2U);
    EXPECT_EQ(way[0].words, "weights");
    click((way[0].left + way[0].right) / 2, (way[0].top + way[0].bottom) / 2, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(view.stage, weights);
    EXPECT_EQ(view.locked, cell);
    with_context([](PanelContext& context) { walk_trail(context.view, context.structure(), +1); });
    EXPECT_EQ(view.stage, of_same_attention(weights, Stage::Scores));
    view.stage = {Stage::Weights, 0};
    frames(2, ui_frame);
    EXPECT_FALSE(is_on_trail(view)) << "something else is looked at";
}

/// A notice stands where the eye's sentence does, which is not to look out behind it.
TEST_F(FrameTest, ANoticeTakesThePlaceOfTheSentence) {
    open_example("stories");
    turn_to(view, opening_look(find_preset("stories"), 0));
    frames(3, ui_frame);
    EXPECT_TRUE(view.drawn.eye);
    view.files.notices.until = now + 1;
    frames(3, ui_frame);
    EXPECT_FALSE(view.drawn.eye);
    now += 2;
    frames(3, ui_frame);
    EXPECT_TRUE(view.drawn.eye);
}

/// In the lowest windows, where a small picture of it could not be read.
TEST_F(FrameTest, TheInputOfAStageTakesTheResultsPlace) {
    ImGui::GetIO().DisplaySize = {900, 600};
    open_example("stories");
    turn_to(view, opening_look(find_preset("stories"), 0));
    const auto maps = [&] {
        frames(40, ui_frame);
        canvas.calls.clear();
        frame(ui_frame);
        std::vector<NullCanvas::Call> found;
        for (const auto& call : canvas.calls)
            if (call.max.x - call.min.x > 60) found.push_back(call);
        return found;
    };
    const std::vector<NullCanvas::Call> result = maps();
    ASSERT_EQ(result.size(), 1U) << "the result alone";
    EXPECT_NE(result.front().request.style.map, ColorMap::Diverging);
    ASSERT_TRUE(press_control(" masked"));
    const std::vector<NullCanvas::Call> input = maps();
    ASSERT_EQ(input.size(), 1U);
    EXPECT_EQ(input.front().request.style.map, ColorMap::Diverging) << "scores have both signs";
    EXPECT_EQ(input.front().min.x, result.front().min.x);
    EXPECT_EQ(input.front().max.y, result.front().max.y);
    ASSERT_TRUE(press_control(" weights"));
    EXPECT_NE(maps().front().request.style.map, ColorMap::Diverging);
    ASSERT_TRUE(press_control(" masked"));
    view.stage = of_same_attention(view.stage, Stage::Masked);
    frames(3, ui_frame);
    EXPECT_NE(view.input_of, view.stage) << "another stage shows its own numbers";
}

TEST_F(FrameTest, SurvivesARestlessPerson) {
    open_example("multi-head");
    carry_out = true;
    std::mt19937 random(3);
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    for (int event = 0; event < 1500; ++event) {
        switch (pick(6)) {
        case 0:
            move_mouse(static_cast<float>(pick(1600)), static_cast<float>(pick(1000)));
            frame(ui_frame);
            break;
        case 1:
            click(static_cast<float>(pick(1600)), static_cast<float>(pick(1000)), ui_frame, pick(2));
            break;
        case 2:
            drag({static_cast<float>(pick(1600)), static_cast<float>(pick(1000))},
                 {static_cast<float>(pick(1600)), static_cast<float>(pick(1000))}, ui_frame, 2);
            break;
        case 3:
            wheel(static_cast<float>(pick(5) - 2), ui_frame);
            break;
        case 4:
            press(static_cast<Key>(pick(16)), ui_frame);
            break;
        default:
            type(std::string(1, "[],.shgnowcpbtfl123? ax"[pick(23)]), ui_frame);
            break;
        }
        ASSERT_NE(session->snapshot()->trace, nullptr);
        ASSERT_NE(trace().find(view.stage), nullptr);
    }
}

}  // namespace
}  // namespace attn::app::test
