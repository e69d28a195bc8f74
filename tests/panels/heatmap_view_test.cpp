#include "app/widgets/heatmap_view.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "app/widgets/heatmap_geometry.hpp"
#include "tests/support/imgui_fixture.hpp"

namespace attn::app {
namespace {

using test::ImGuiFixture;

class HeatmapView : public ImGuiFixture {
protected:
    HeatmapView() { resize(10, 20); }

    /// A matrix of rows × cols in [100, 100] to [900, 500].
    void resize(std::int64_t rows, std::int64_t cols) {
        values.assign(static_cast<std::size_t>(rows * cols), 0);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / static_cast<float>(values.size());
        data = {.key = 7, .values = values.data(), .rows = rows, .cols = cols, .row_stride = cols};
    }

    std::function<void()> contents = [this] {
        const HeatmapResult now = heatmap_view(ui, "map", ImVec2(100, 100), ImVec2(900, 500), data, style, state, options);
        result = now;
        if (now.clicked) clicked = now.clicked;
        if (now.right_clicked) right_clicked = now.right_clicked;
        if (now.moved) moved = now.moved;
        view_changes += now.view_changed;
    };

    std::vector<float> values;
    HeatmapData data;
    HeatmapStyle style;
    HeatmapViewState state;
    HeatmapOptions options;
    HeatmapResult result;
    std::optional<HeatmapCell> clicked, right_clicked, moved;
    int view_changes = 0;
};

TEST_F(HeatmapView, AsksTheCanvasForEverythingAtFirst) {
    frame(contents);
    ASSERT_EQ(canvas.calls.size(), 1u);
    const test::NullCanvas::Call& call = canvas.calls[0];
    EXPECT_EQ(call.request.data.key, 7u);
    EXPECT_EQ(call.request.first_col, 0);
    EXPECT_EQ(call.request.last_col, 20);
    EXPECT_EQ(call.request.first_row, 0);
    EXPECT_EQ(call.request.last_row, 10);
    EXPECT_EQ(call.min.x, 100);
    EXPECT_EQ(call.max.y, 500);
    EXPECT_FALSE(result.hovered);
}

/// Of its 200 numbers, one is 0; masked cells and small numbers are not crossed, and neither is anything where cells are tiny.
TEST_F(HeatmapView, CrossesWhatDropoutHasLeftOut) {
    values[1] = 1e-9F;
    std::vector<std::uint8_t> keep(values.size(), 1);
    options.numbers = false;
    const auto drawn = [&](bool dropped) {
        options.dropped = dropped;
        frames(2, contents);
        return vertices();
    };
    const int one = drawn(true) - drawn(false);
    EXPECT_GT(one, 0);
    values[2] = values[3] = 0;
    EXPECT_EQ(drawn(true) - drawn(false), 3 * one);
    keep[3] = 0;
    data.keep = keep.data();
    EXPECT_EQ(drawn(true) - drawn(false), 2 * one);
    resize(10, 400);
    std::fill(values.begin(), values.end(), 0.F);
    EXPECT_EQ(drawn(true), drawn(false));
}

TEST_F(HeatmapView, HoverAndClickNameTheCellUnderTheMouse) {
    frames(2, contents);
    for (int row = 0; row < 10; ++row) {
        for (int col = 0; col < 20; ++col) {
            move_mouse(100 + 40 * static_cast<float>(col) + 0.5f, 100 + 40 * static_cast<float>(row) + 39.5f);
            frame(contents);
            ASSERT_TRUE(result.hovered);
            EXPECT_EQ(*result.hovered, (HeatmapCell{row, col}));
        }
    }
    click(100 + 40 * 3 + 20, 100 + 40 * 6 + 20, contents);
    ASSERT_TRUE(clicked);
    EXPECT_EQ(*clicked, (HeatmapCell{6, 3}));
    click(100 + 40 * 4 + 20, 100 + 40 * 2 + 20, contents, 1);
    ASSERT_TRUE(right_clicked);
    EXPECT_EQ(*right_clicked, (HeatmapCell{2, 4}));
    EXPECT_EQ(view_changes, 0);
    move_mouse(99, 300);
    frame(contents);
    EXPECT_FALSE(result.hovered);
}

TEST_F(HeatmapView, WheelZoomsAboutTheCursorAndDragPans) {
    frames(2, contents);
    move_mouse(100 + 620, 100 + 100);
    frame(contents);
    const HeatmapCell before = *result.hovered;
    for (int i = 0; i < 5; ++i) wheel(1, contents);
    EXPECT_EQ(view_changes, 5);
    frame(contents);
    EXPECT_EQ(*result.hovered, before) << "what is under the cursor stays there";
    const HeatmapRequest zoomed = canvas.calls.at(0).request;
    const float factor = std::pow(1.2f, 5.0f);
    EXPECT_NEAR(zoomed.last_col - zoomed.first_col, 20 / factor, 1e-3);
    EXPECT_NEAR(zoomed.last_row - zoomed.first_row, 10 / factor, 1e-3);
    EXPECT_NEAR(zoomed.first_col + 0.775f * (20 / factor), 15.5f, 1e-3);

    drag(ImVec2(700, 200), ImVec2(740, 200), contents);
    const HeatmapRequest panned = canvas.calls.at(0).request;
    const float cell = 800 / (20 / factor);
    EXPECT_NEAR(zoomed.first_col - panned.first_col, 40 / cell, 1e-2);
    EXPECT_FALSE(clicked) << "a drag is no click";

    press('F', contents);
    EXPECT_EQ(state, HeatmapViewState{});
    for (int i = 0; i < 100; ++i) wheel(1, contents);
    frame(contents);
    EXPECT_GE(canvas.calls.at(0).request.last_row - canvas.calls.at(0).request.first_row, 1.0f);
    for (int i = 0; i < 200; ++i) wheel(-1, contents);
    frame(contents);
    EXPECT_EQ(canvas.calls.at(0).request.last_col, 20) << "never out beyond everything";
}

TEST_F(HeatmapView, RowLabelsStandBesideTheirRowsWhereverTheMapIsZoomedTo) {
    resize(49, 20);
    for (const AxisView& rows : {AxisView{}, AxisView{.zoom = 2.5F, .center = 0.3F}, AxisView{.zoom = 12, .center = 0.9F}}) {
        const HeatmapGeometry g = heatmap_geometry(ImVec2(100, 100), ImVec2(900, 500), data, {.rows = rows, .cols = {}});
        const auto labels = labelled_rows(g, 13, 7);
        const double height = 400.0 * static_cast<double>(rows.zoom) / 49;
        const auto step = static_cast<std::int64_t>(std::ceil(13 / height));
        ASSERT_FALSE(labels.empty());
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const auto cell = g.cell_at(ImVec2(500, labels[i].middle));
            ASSERT_TRUE(cell);
            EXPECT_EQ(cell->row, labels[i].row);
            EXPECT_TRUE(labels[i].row == 7 || labels[i].row % step == 0) << labels[i].row;
            const float before = i > 0 ? labels[i - 1].middle : -100.0F;
            EXPECT_GE(labels[i].middle - before, 12.99F) << labels[i].row << " overlaps the label before it";
        }
        const bool shows_chosen = std::any_of(labels.begin(), labels.end(), [](const RowLabel& label) { return label.row == 7; });
        EXPECT_EQ(shows_chosen, g.rows.first <= 7.5 && 7.5 <= g.rows.last);
    }
}

TEST_F(HeatmapView, NoNumberIsCutByTheEdgeOfAZoomedMap) {
    const auto drawn_beyond_the_map = [] {
        int beyond = 0;
        const ImDrawData& drawn = *ImGui::GetDrawData();
        for (int l = 0; l < drawn.CmdListsCount; ++l)
            for (const ImDrawVert& vertex : drawn.CmdLists[l]->VtxBuffer) beyond += vertex.pos.x < 98 || vertex.pos.x > 902;
        return beyond;
    };
    options.numbers = true;
    state.rows = state.cols = {.zoom = 4, .center = 0.5F};
    frames(2, contents);
    options.numbers = false;
    const int with_numbers = vertices();
    frame(contents);
    ASSERT_GT(with_numbers, vertices()) << "cells are large enough for numbers";
    const int without = drawn_beyond_the_map();
    options.numbers = true;
    for (int i = 0; i < 20; ++i) {
        state.cols.center = 0.5F + 0.0025F * static_cast<float>(i);
        frame(contents);
        EXPECT_EQ(drawn_beyond_the_map(), without) << "moved by " << i << " twentieths of a cell";
    }
}

TEST_F(HeatmapView, DoubleClickShowsEverythingAgain) {
    state.cols = {.zoom = 4, .center = 0.5f};
    frames(2, contents);
    click(500, 300, contents);
    EXPECT_EQ(state.cols.zoom, 4);
    click(500, 300, contents);
    EXPECT_EQ(state, HeatmapViewState{});
}

TEST_F(HeatmapView, ArrowsMoveTheChosenCellAndKeepItInSight) {
    options.arrows = true;
    frames(2, contents);
    press(Key::Right, contents);
    EXPECT_FALSE(moved) << "nothing is chosen";
    options.marks = {.row = 9, .col = 19};
    press(Key::Right, contents);
    press(Key::Down, contents);
    EXPECT_FALSE(moved) << "the edge";
    press(Key::Up, contents);
    ASSERT_TRUE(moved);
    EXPECT_EQ(*moved, (HeatmapCell{8, 19}));
    state.rows = {.zoom = 5, .center = 0.1f};  // rows 0 and 1
    options.marks = {.row = 1, .col = 0};
    frame(contents);
    press(Key::Down, contents);
    const CellSpan shown = shown_cells(state.rows, 10);
    EXPECT_LE(shown.first, 2);
    EXPECT_GE(shown.last, 3);
    options.arrows = false;
    moved.reset();
    press(Key::Up, contents);
    EXPECT_FALSE(moved);
}

TEST_F(HeatmapView, NumbersOnlyWhereTheyFit) {
    options.border = false;
    frame(contents);
    const int with_numbers = vertices();
    options.numbers = false;
    frame(contents);
    EXPECT_GT(with_numbers, vertices() + 200 * 4);
    options.numbers = true;
    resize(1024, 1024);
    frame(contents);
    EXPECT_LT(vertices(), 100) << "a large map costs nothing per cell";
}

TEST_F(HeatmapView, FiguresFollowTheWidthOfTheCells) {
    EXPECT_EQ(cell_figures(19.9F), 0);
    EXPECT_EQ(cell_figures(20), 1);
    EXPECT_EQ(cell_figures(26), 2);
    EXPECT_EQ(cell_figures(44), 3);
    EXPECT_EQ(cell_figures(56), 4);
    options.border = false;
    int before = 0;
    // 400 high and 800 wide: cells of 16, 20, 26, 45 and 57.
    for (const std::int64_t cols : {50, 40, 30, 17, 14}) {
        resize(10, cols);
        options.numbers = false;
        frame(contents);
        const int without = vertices();
        options.numbers = true;
        frame(contents);
        const int letters = (vertices() - without) / static_cast<int>(10 * cols);
        EXPECT_EQ(letters > 0, cols < 50) << cols;
        EXPECT_GE(letters, before) << "wider cells have no fewer figures";
        before = letters;
    }
    EXPECT_GT(before, 4 * 4) << "0.1234 in the widest: four vertices for each of five letters or more";
}

TEST_F(HeatmapView, InNarrowCellsAWeightHasItsDigitAlone) {
    options.border = false;
    const auto letters = [&](std::int64_t cols, float value) {
        resize(10, cols);
        std::fill(values.begin(), values.end(), value);
        options.numbers = false;
        frame(contents);
        const int without = vertices();
        options.numbers = true;
        frame(contents);
        return (vertices() - without) / static_cast<int>(4 * 10 * cols);
    };
    EXPECT_EQ(letters(40, 0.3F), 2) << ".3: the zero of 0.3 would touch the number before it";
    EXPECT_EQ(letters(14, 0.3F), 6) << "0.3000";
}

TEST_F(HeatmapView, KeysZoomAboutThePointerElseAboutTheChosenCell) {
    frames(2, contents);
    move_mouse(50, 50);
    options.zoom_steps = 5;
    frame(contents);
    EXPECT_TRUE(state.whole()) << "neither pointed at nor the one that the keys are for";
    options.zoom_keys = true;
    options.marks = {.row = 1, .col = 17};
    frame(contents);
    options.zoom_steps = 0;
    frame(contents);
    const HeatmapRequest zoomed = canvas.calls.at(0).request;
    EXPECT_NEAR(zoomed.last_col - zoomed.first_col, 20 / std::pow(1.2f, 5.0f), 1e-3);
    EXPECT_NEAR((17.5F - zoomed.first_col) / (zoomed.last_col - zoomed.first_col), 17.5F / 20, 1e-3) << "the chosen cell stays";
    state = {};
    options.zoom_keys = false;
    move_mouse(100 + 620, 200);
    frame(contents);
    const HeatmapCell under = *result.hovered;
    options.zoom_steps = 4;
    frame(contents);
    options.zoom_steps = 0;
    frame(contents);
    EXPECT_FALSE(state.whole());
    EXPECT_EQ(*result.hovered, under);
}

TEST_F(HeatmapView, OddSizes) {
    for (const auto& [rows, cols] : {std::pair{1, 1}, {1, 300}, {300, 1}, {400, 800}}) {
        resize(rows, cols);
        state = {};
        options.marks = {.row = rows - 1, .col = cols - 1, .hover_row = 0, .hover_col = 0};
        frames(2, contents);
        move_mouse(899, 499);
        frame(contents);
        ASSERT_TRUE(result.hovered);
        EXPECT_EQ(*result.hovered, (HeatmapCell{rows - 1, cols - 1}));
        for (int i = 0; i < 30; ++i) wheel(1, contents);
        ASSERT_TRUE(result.hovered);
        EXPECT_EQ(*result.hovered, (HeatmapCell{rows - 1, cols - 1}));
    }
    data = {};
    frame(contents);
    EXPECT_TRUE(canvas.calls.empty());
    EXPECT_FALSE(result.hovered);
}

TEST_F(HeatmapView, SpecialNumbersLabelsAndMarksDraw) {
    const float inf = std::numeric_limits<float>::infinity();
    values[0] = inf;
    values[1] = -inf;
    values[2] = std::nanf("");
    std::vector<std::uint8_t> keep(values.size(), 1);
    keep[1] = keep[3] = 0;
    data.keep = keep.data();
    style.per_row = true;
    const std::vector<std::string> labels(20, "a long token");
    options.rows = {.label = labels_in(labels), .room = 60, .title = "query", .axis = Axis::T};
    options.cols = {.numbers = true, .room = 20, .title = "key", .axis = Axis::S};
    options.marks = {.row = 2, .col = -1};
    options.note = "1 NaN";
    frame(contents);
    EXPECT_GT(vertices(), 500);
    EXPECT_EQ(cell_text(data, {0, 0}), "∞");
    EXPECT_EQ(cell_text(data, {0, 1}), "masked");
    EXPECT_EQ(cell_text(data, {0, 2}), "NaN");
    EXPECT_EQ(cell_text(data, {0, 4}), "0.02");
    theme.scale = 0.5F;  // the smallest scale; frames are at least one pixel wide
    options.marks = {.row = 2, .col = 3};
    frame(contents);
    EXPECT_GT(vertices(), 500);
}

TEST_F(HeatmapView, LabelsAreMadeOnlyWhereTheyAreDrawn) {
    constexpr std::int64_t kColumns = 100'000;
    resize(2, kColumns);
    int calls = 0;
    std::int64_t last = -1;
    options.cols = {.label =
                        [&](std::int64_t col) {
                            ++calls;
                            last = std::max(last, col);
                            return "c" + std::to_string(col);
                        },
                    .room = 40};
    frame(contents);
    EXPECT_GT(calls, 10);
    EXPECT_LT(calls, 2000);
    EXPECT_LT(last, kColumns);
}

TEST(HeatmapState, PropertiesHoldForRandomMoves) {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> unit(0, 1), factor(0.5f, 2);
    for (int round = 0; round < 200; ++round) {
        const std::int64_t n = 1 + static_cast<std::int64_t>(random() % 1500);
        AxisView view;
        for (int i = 0; i < 40; ++i) {
            const CellSpan before = shown_cells(view, n);
            const float anchor = unit(random);
            zoom_axis(view, n, factor(random), anchor);
            pan_axis(view, n, (unit(random) - 0.5) * 10);
            const std::int64_t cell = static_cast<std::int64_t>(random()) % n;
            reveal_cell(view, n, cell);
            const CellSpan shown = shown_cells(view, n);
            EXPECT_TRUE(shown.first >= -1e-3 && shown.last <= static_cast<double>(n) * (1 + 1e-6) + 1e-3) << n;
            EXPECT_TRUE(shown.size() >= std::min<double>(static_cast<double>(n), 1.4));
            EXPECT_TRUE(shown.first <= static_cast<double>(cell) + 1e-2 && shown.last >= static_cast<double>(cell) + 1 - 1e-2)
                << n << " " << cell;
            EXPECT_GT(before.size(), 0);
        }
    }
}

TEST(HeatmapState, SurvivesAnotherSizeAndNonsense) {
    AxisView view{.zoom = 100, .center = 0.99f};
    const CellSpan shown = shown_cells(view, 2);
    EXPECT_GE(shown.size(), 1.0);
    EXPECT_LE(shown.last, 2.0);
    view.zoom = std::nanf("");
    EXPECT_EQ(shown_cells(view, 5).size(), 5);
    EXPECT_EQ(shown_cells(view, 0).size(), 1);
}

}  // namespace
}  // namespace attn::app
