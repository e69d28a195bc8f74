#include "app/panels/maps/equation_layout.hpp"

#include <gtest/gtest.h>

#include <random>

namespace attn::app {
namespace {

const float kNumbers[1] = {0};

Matrix matrix_of(std::int64_t rows, std::int64_t cols) {
    Matrix matrix;
    matrix.data.values = kNumbers;
    matrix.data.rows = rows;
    matrix.data.cols = cols;
    return matrix;
}

/// A matrix whose columns are no positions.
Matrix of_vectors(std::int64_t rows, std::int64_t cols) {
    Matrix matrix = matrix_of(rows, cols);
    matrix.row_axis = Axis::T;
    matrix.col_axis = Axis::C;
    return matrix;
}

bool inside(const Box& box, const Box& area) {
    return box.min.x >= area.min.x - 1 && box.min.y >= area.min.y - 1 && box.max.x <= area.max.x + 1 && box.max.y <= area.max.y + 1;
}

bool apart(const Box& a, const Box& b) { return a.max.x <= b.min.x || b.max.x <= a.min.x || a.max.y <= b.min.y || b.max.y <= a.min.y; }

const Box kArea{{300, 160}, {1180, 800}};

TEST(EquationLayout, AProductReadsAsOnABlackboard) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        const auto size = [&] { return static_cast<std::int64_t>(1 + random() % (round % 3 == 0 ? 4 : 64)); };
        const std::int64_t rows = size(), inner = size(), cols = size();
        Equation equation;
        equation.layout = Layout::Product;
        equation.operands = {matrix_of(rows, inner), matrix_of(inner, cols), matrix_of(1, cols)};
        equation.result = matrix_of(rows, cols);
        const EquationLayout layout = lay_out_equation(equation, kArea, 1, 80, true);
        const Box &left = layout.operands[0], &top = layout.operands[1], &bias = layout.operands[2];
        EXPECT_FLOAT_EQ(left.height(), layout.result.height());
        EXPECT_FLOAT_EQ(left.min.y, layout.result.min.y);
        EXPECT_FLOAT_EQ(top.width(), layout.result.width());
        EXPECT_FLOAT_EQ(top.min.x, layout.result.min.x);
        EXPECT_LE(left.max.x, layout.result.min.x);
        EXPECT_LE(top.max.y, bias.min.y);
        EXPECT_LE(bias.max.y, layout.result.min.y);
        for (const Box& box : {left, top, bias, layout.result, layout.bar, layout.text})
            EXPECT_TRUE(inside(box, kArea)) << rows << " " << inner << " " << cols;
        EXPECT_TRUE(apart(layout.text, top) && apart(layout.text, left) && apart(layout.bar, layout.result));
    }
}

TEST(EquationLayout, ARowOfMatricesSharesItsRows) {
    std::mt19937 random(11);
    for (int round = 0; round < 300; ++round) {
        const auto size = [&] { return static_cast<std::int64_t>(1 + random() % 40); };
        const std::int64_t rows = size(), cols = size();
        Equation equation;
        equation.layout = round % 2 == 0 ? Layout::Rowwise : Layout::Sum;
        equation.operands = {of_vectors(rows, cols)};
        const std::int64_t more = equation.layout == Layout::Sum ? 1 + static_cast<std::int64_t>(random() % 3) : 0;
        for (std::int64_t i = 0; i < more; ++i) equation.operands.push_back(of_vectors(rows, cols));
        equation.result = of_vectors(rows, cols);
        equation.row_sums = equation.layout == Layout::Rowwise;
        const EquationLayout layout = lay_out_equation(equation, kArea, 1, 60, true);
        float x = kArea.min.x;
        for (const Box& box : layout.operands) {
            EXPECT_GE(box.min.x, x);
            x = box.max.x;
            EXPECT_FLOAT_EQ(box.height(), layout.result.height());
            EXPECT_TRUE(inside(box, kArea));
        }
        EXPECT_GE(layout.result.min.x, x);
        EXPECT_TRUE(inside(layout.result, kArea) && inside(layout.bar, kArea));
    }
}

TEST(EquationLayout, CellsFromTokenToTokenAreSquare) {
    for (const std::int64_t count : {1, 2, 7, 15, 40, 300})
        for (const Layout kind : {Layout::Single, Layout::Product, Layout::Rowwise, Layout::Difference}) {
            Equation equation;
            equation.layout = kind;
            equation.result = matrix_of(count, count);
            if (kind == Layout::Product) equation.operands = {matrix_of(count, 8), matrix_of(8, count)};
            if (kind == Layout::Rowwise) equation.operands = {matrix_of(count, count)};
            if (kind == Layout::Difference) equation.operands = {matrix_of(count, count), matrix_of(count, count)};
            const Box result = lay_out_equation(equation, kArea, 1, 60, true).result;
            EXPECT_NEAR(result.width(), result.height(), 1) << count << " " << static_cast<int>(kind);
        }
    // Fifteen words in a window of 1600 × 1000: the weights keep two digits.
    Equation weights;
    weights.layout = Layout::Rowwise;
    weights.operands = {matrix_of(15, 15)};
    weights.result = matrix_of(15, 15);
    const Box area{{292, 196}, {1228, 790}};
    EXPECT_GE(lay_out_equation(weights, area, 1, 60, true).result.width() / 15, 26);
}

/// From one map of tokens to another: the result as large as the height allows, and a column with all else beside it.
TEST(EquationLayout, AMapFromAMapIsLargeWithAColumnBesideIt) {
    std::mt19937 random(17);
    for (int round = 0; round < 300; ++round) {
        const auto rows = static_cast<std::int64_t>(1 + random() % 60), cols = static_cast<std::int64_t>(1 + random() % 60);
        Equation equation;
        equation.layout = Layout::Rowwise;
        equation.operands = {matrix_of(rows, cols)};
        equation.result = matrix_of(rows, cols);
        equation.row_sums = round % 3 == 0;
        const Box area{{20, 30}, {20 + static_cast<float>(500 + random() % 900), 30 + static_cast<float>(260 + random() % 600)}};
        const EquationLayout layout = lay_out_equation(equation, area, 1, 60, true);
        ASSERT_TRUE(layout.beside);
        const Box labelled{{layout.result.min.x - layout.row_labels, layout.result.min.y}, layout.result.max};
        for (const Box& box : {layout.text, layout.operands[0], layout.bar}) {
            EXPECT_TRUE(box.width() < 1 || inside(box, area)) << round;
            EXPECT_TRUE(box.width() < 1 || apart(box, labelled)) << round;
        }
        EXPECT_TRUE(inside(layout.result, area));
        EXPECT_TRUE(apart(layout.text, layout.operands[0]) && apart(layout.bar, layout.operands[0]));
        if (equation.row_sums) {
            EXPECT_TRUE(inside(layout.row_sums, area) && apart(layout.row_sums, layout.result));
        }
        // Height or width is used up but for less than a cell.
        const float cell = layout.result.height() / static_cast<float>(rows);
        const float free =
            std::min(area.height() - layout.column_labels - 20 - layout.result.height() - static_cast<float>(rows),
                     area.width() - 180 - 82 - (equation.row_sums ? 62.F : 0.F) - layout.result.width() - static_cast<float>(cols));
        EXPECT_TRUE(cell >= 63 || free <= std::max(cell, 8.F) || area.width() < 540) << round << " " << free;
    }
    // The first picture: 17 words in a window of 1600 x 1000, where a fifth of the window is the promise.
    Equation first;
    first.layout = Layout::Rowwise;
    first.operands = {matrix_of(17, 17)};
    first.result = matrix_of(17, 17);
    const auto share = [&](ImVec2 window, const Box& area) {
        const Box result = lay_out_equation(first, area, 1, 60, true).result;
        return result.width() * result.height() / (window.x * window.y);
    };
    EXPECT_GE(share({1600, 1000}, {{260, 194}, {1224, 844}}), 0.2F);
    EXPECT_GE(share({1280, 720}, {{260, 180}, {952, 634}}), 0.16F);
}

/// In a low window the formula goes beside the column labels without covering anything, and the cells gain the height.
TEST(EquationLayout, InALowAreaTheFormulaTakesNoHeight) {
    std::mt19937 random(13);
    for (int round = 0; round < 300; ++round) {
        const float scale = round % 2 == 0 ? 1.F : 2.F;
        const auto count = static_cast<std::int64_t>(2 + random() % 60);
        Equation equation;
        equation.layout = Layout::Rowwise;
        equation.operands = {of_vectors(count, count)};
        equation.result = of_vectors(count, count);
        equation.row_sums = round % 3 == 0;
        const Box area{{94 * scale, 156 * scale}, {94 * scale + static_cast<float>(420 + random() % 700) * scale, 500 * scale}};
        const EquationLayout layout = lay_out_equation(equation, area, scale, 32 * scale, true);
        const float title = 22 * scale, gap_above = layout.result.min.y - area.min.y;
        EXPECT_LE(gap_above, (42 + 22 + 1) * scale) << "names and words alone";
        // The operand's name is above it.
        const Box operand{{layout.operands[0].min.x, layout.operands[0].min.y - title}, layout.operands[0].max};
        const Box result{{layout.result.min.x, area.min.y}, layout.result.max};
        EXPECT_TRUE(apart({layout.text.min, {layout.text.max.x, area.min.y + 30 * scale}}, operand)) << count;
        EXPECT_TRUE(apart(layout.text, result)) << count;
        for (const Box& box : {layout.operands[0], layout.result, layout.bar}) EXPECT_TRUE(inside(box, area)) << count;
        const EquationLayout high = lay_out_equation(equation, {area.min, {area.max.x, area.max.y + 200 * scale}}, scale, 32 * scale, true);
        EXPECT_GT(high.result.min.y, layout.result.min.y) << "where there is room it stands above all";
    }
}

TEST(EquationLayout, ADifferenceIsLargeAndItsStatesSmallBesideIt) {
    Equation equation;
    equation.layout = Layout::Difference;
    equation.operands = {matrix_of(12, 12), matrix_of(12, 12)};
    equation.result = matrix_of(12, 12);
    for (const Box& area : {kArea, Box{{292, 196}, {1228, 790}}, Box{{0, 0}, {2000, 1200}}}) {
        const EquationLayout layout = lay_out_equation(equation, area, 1, 60, true);
        const Box &b = layout.operands[0], &a = layout.operands[1], &result = layout.result;
        EXPECT_GE(result.width() / 12, 26) << "large enough for numbers";
        EXPECT_LE(a.width(), result.width() / 2);
        EXPECT_GT(a.width(), result.width() / 4);
        EXPECT_NEAR(a.min.y, result.min.y, 1);
        EXPECT_NEAR(b.max.y, result.max.y, 1);
        EXPECT_LE(a.max.y, b.min.y);
        EXPECT_GE(a.min.x, result.max.x);
        for (const Box& box : {a, b, result, layout.bar, layout.text}) EXPECT_TRUE(inside(box, area));
        // Free space is divided between both sides.
        EXPECT_NEAR(area.max.x - layout.bar.max.x, result.min.x - layout.row_labels - area.min.x, 8);
    }
    // In a narrow area only the difference is shown.
    const EquationLayout narrow = lay_out_equation(equation, {{0, 0}, {440, 400}}, 1, 60, true);
    EXPECT_EQ(narrow.operands[0].width(), 0);
    EXPECT_GT(narrow.result.width(), 150);
}

}  // namespace
}  // namespace attn::app
