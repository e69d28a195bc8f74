#include "app/panels/maps/equation_layout.hpp"

#include <algorithm>
#include <cmath>

namespace attn::app {
namespace {

// In logical pixels:
constexpr float kRowLabels = 62, kColumnLabels = 20, kGap = 34, kBar = 168, kNarrowBar = 84, kBarGap = 26, kTitle = 22, kAxisTitle = 20,
                kSlantedLabels = 42, kWideColumn = 44;
constexpr float kFormula = 40, kLowArea = 380;
constexpr float kLeastColumn = 180, kMostColumn = 300, kMostOperand = 224, kTextRoom = 110;
constexpr float kMostCell = 64, kStrip = 14, kStripGap = 5, kSums = 46, kTextGap = 16;

float px(float logical, float scale) { return std::floor(logical * scale); }
float count(std::int64_t n) { return static_cast<float>(std::max<std::int64_t>(n, 1)); }

Box box(float x, float y, float w, float h) { return {{std::floor(x), std::floor(y)}, {std::floor(x + w), std::floor(y + h)}}; }

/// The width of the colour bar, plus the statistics if there is ample room (the right pane shows them too).
float bar_width(const Box& area, float scale) { return px(area.width() > px(1500, scale) ? kBar : kNarrowBar, scale); }

bool is_position(Axis axis) { return axis == Axis::T || axis == Axis::S; }
/// Whether it is a token-to-token map, whose cells are square.
bool is_token_map(const Matrix& matrix) { return is_position(matrix.row_axis) && is_position(matrix.col_axis); }

/// Rounds cells down to whole pixels unless they are tiny.
float whole(float cell) { return cell >= 4 ? std::floor(cell) : cell; }

/// Centres the equation in the free space.
void put_in_the_middle(const Box& area, EquationLayout& layout, bool with_text) {
    const float shift = std::floor((area.max.x - std::max(layout.bar.max.x, layout.result.max.x)) / 2);
    if (shift < 4) return;
    const auto move = [shift](Box& box) {
        box.min.x += shift;
        box.max.x += shift;
    };
    for (Box& box : layout.operands) move(box);
    for (Box* box : {&layout.result, &layout.row_sums, &layout.bar}) move(*box);
    if (with_text) move(layout.text);
}

struct Room {
    float width, height;
};

/// The size of the result: cells up to kMostCell; square for token-to-token maps, otherwise not much wider than high.
Room fit_result(const Matrix& result, Room room, float scale) {
    const float most = px(kMostCell, scale);
    const float rows = count(result.data.rows), cols = count(result.data.cols);
    if (is_token_map(result)) {
        const float cell = whole(std::min({room.width / cols, room.height / rows, most}));
        return {cell * cols, cell * rows};
    }
    float height = std::min(room.height, rows * most);
    const float width = std::min(room.width, cols * std::min(most, std::max(height / rows * 1.8F, px(26, scale))));
    // Limit the height of matrices with few rows.
    height = std::min(height, rows * std::max(width / cols * 3.F, px(44, scale)));
    return {width, height};
}

void lay_out_product(const Equation& equation, const Box& area, float scale, EquationLayout& layout) {
    const Matrix& left = equation.operands[0];
    const bool has_bias = equation.operands.size() > 2;
    const float labels = layout.row_labels, gap = px(kGap, scale);
    const float usable = std::max(area.width() - labels - gap, px(160, scale));
    const float share = std::clamp(count(left.data.cols) / (count(left.data.cols) + count(equation.result.data.cols)), 0.18F, 0.3F);
    const float strip = has_bias ? px(kStrip + kStripGap, scale) : 0;
    const float below_top = strip + layout.column_labels + px(6, scale);
    const float usable_height = area.height() - px(kAxisTitle, scale) - below_top;
    const float top_share = std::clamp(count(left.data.cols) / (count(left.data.cols) + count(equation.result.data.rows)), 0.12F, 0.2F);
    const Room size = fit_result(equation.result, {usable * (1 - share), usable_height * (1 - top_share)}, scale);
    const float left_width = std::min(usable * share, count(left.data.cols) * px(kMostCell, scale) * 0.6F);
    const float top_height = std::clamp(std::min(usable_height * top_share, count(left.data.cols) * px(30, scale)), px(28, scale),
                                        std::max(usable_height - size.height, px(28, scale)));

    const float result_x = area.min.x + labels + left_width + gap;
    const float result_y = area.min.y + top_height + below_top;
    layout.result = box(result_x, result_y, size.width, size.height);
    layout.operands.push_back(box(area.min.x + labels, result_y, left_width, size.height));
    layout.operands.push_back(box(result_x, area.min.y, size.width, top_height));
    if (has_bias) layout.operands.push_back(box(result_x, area.min.y + top_height + px(kStripGap, scale), size.width, px(kStrip, scale)));
    layout.text = box(area.min.x, area.min.y, labels + left_width, top_height + below_top - px(kTitle + 4, scale));
    // In the line of the axis titles, below the left operand.
    layout.bar_lies = true;
    layout.bar = box(area.min.x, layout.result.max.y + px(5, scale), labels + left_width, px(14, scale));
    put_in_the_middle(area, layout, true);
}

/// A step from one map to another of the same size, which differ in little: the result as large as it can be at the right, and beside it a
/// column with the text, the input in small, and the colour bar.
bool has_column_beside(const Equation& equation) {
    return equation.layout == Layout::Rowwise && equation.operands.size() == 1 && is_token_map(equation.result);
}

void lay_out_beside(const Equation& equation, const Box& area, float scale, EquationLayout& layout) {
    const float sums = equation.row_sums ? px(kSums + 16, scale) : 0, gap = px(20, scale);
    const float top = area.min.y + layout.column_labels, bottom = area.max.y - px(kAxisTitle, scale);
    const float least = std::min(px(kLeastColumn, scale), area.width() / 3);
    const Room size = fit_result(equation.result, {area.width() - sums - layout.row_labels - gap - least, bottom - top}, scale);
    // What is left over in width goes to both sides, so that the picture stays together.
    const float column = std::min(area.width() - sums - layout.row_labels - gap - size.width, px(kMostColumn, scale));
    const float x = area.min.x + std::floor((area.width() - column - gap - layout.row_labels - size.width - sums) / 2);
    layout.beside = layout.bar_lies = true;
    layout.result = box(x + column + gap + layout.row_labels, top, size.width, size.height);
    if (equation.row_sums) layout.row_sums = box(layout.result.max.x + px(16, scale), top, px(kSums, scale), size.height);
    layout.bar = box(x, layout.result.max.y - px(16, scale), column, px(16, scale));
    const float below = layout.bar.min.y - px(14, scale), name = px(kTitle, scale);
    // At the height of the result's middle and below, as far as the text leaves room.
    const float side =
        std::max(std::min({column - px(48, scale), below - top - px(kTextRoom, scale) - name, px(kMostOperand, scale)}), 0.F);
    const float rows = count(equation.result.data.rows), cols = count(equation.result.data.cols);
    const float cell = whole(side / std::max(rows, cols));
    layout.operands.push_back(cell < 1.5F ? Box() : box(x, below - cell * rows, cell * cols, cell * rows));
    layout.text = box(x, top, column, (cell < 1.5F ? below : layout.operands.front().min.y - name) - top);
}

/// Lays out matrices in a row with the result's height; widths are proportional to their columns, each at least `least`.
void lay_out_row(const Equation& equation, const Box& area, float scale, float text_height, EquationLayout& layout) {
    const bool rowwise = equation.layout == Layout::Rowwise;
    const std::size_t in_row = equation.layout == Layout::Single ? 0 : rowwise ? 1 : equation.operands.size();
    const std::size_t strips = equation.operands.size() - in_row;
    const float strips_height = static_cast<float>(strips) * px(kStrip + kStripGap, scale);
    const bool many = in_row > 4;
    const float own_labels = equation.rows_differ ? kRowLabels : 0;
    const float gap = many ? px(10, scale) : px((rowwise ? kGap + 34 : kGap + 14) + own_labels, scale);
    const float sums = equation.row_sums ? px(kSums + 16, scale) : 0;
    const float bar = bar_width(area, scale) + px(kBarGap, scale);
    const float usable = area.width() - layout.row_labels - gap * static_cast<float>(in_row) - sums - bar;

    const float above = layout.column_labels + px(kTitle, scale) + strips_height;
    // In a low area the formula goes beside the column labels, above the input.
    const bool beside_names = rowwise && strips == 0 && text_height <= px(kFormula, scale) && area.height() < px(kLowArea, scale);

    // The input of a row-wise step was shown as the result of the previous step, so it may be narrower.
    const float operand_share = rowwise ? 0.62F : 1.F;
    float columns = count(equation.result.data.cols);
    for (std::size_t i = 0; i < in_row; ++i) columns += operand_share * count(equation.operands[i].data.cols);
    const float top =
        area.min.y + (beside_names ? std::max(above, text_height + px(kTitle, scale)) : text_height + px(kTextGap, scale) + above);
    const Room room{usable * count(equation.result.data.cols) / columns, area.max.y - top - px(kAxisTitle, scale)};
    const Room size = fit_result(equation.result, room, scale);
    const float per_column = size.width / count(equation.result.data.cols);

    float x = area.min.x + layout.row_labels;
    for (std::size_t i = 0; i < in_row; ++i) {
        const float width = std::max(operand_share * per_column * count(equation.operands[i].data.cols), px(8, scale));
        layout.operands.push_back(box(x, top, width, size.height));
        x += width + gap;
    }
    layout.result = box(x, top, size.width, size.height);
    for (std::size_t i = 0; i < strips; ++i) {
        const float y = top - layout.column_labels - strips_height + static_cast<float>(i) * px(kStrip + kStripGap, scale);
        layout.operands.push_back(box(x, y, size.width, px(kStrip, scale)));
    }
    float right = layout.result.max.x;
    if (equation.row_sums) {
        layout.row_sums = box(right + px(16, scale), top, px(kSums, scale), size.height);
        right = layout.row_sums.max.x;
    }
    layout.text = box(area.min.x, area.min.y, area.width(), text_height);
    layout.bar = box(right + px(kBarGap, scale), top, bar_width(area, scale), size.height);
    put_in_the_middle(area, layout, false);
    if (beside_names) layout.text.max.x = layout.result.min.x - px(kGap, scale) / 2;
}

/// The difference large on the left, and beside it the two states stacked to the same height; in a narrow area only the difference.
void lay_out_difference(const Equation& equation, const Box& area, float scale, float text_height, EquationLayout& layout) {
    const float rows = count(equation.result.data.rows), cols = count(equation.result.data.cols);
    const float gap = px(kGap, scale), between = px(kTitle + 8, scale), bar = bar_width(area, scale) + px(kBarGap, scale);
    const float top = area.min.y + text_height + px(kTextGap + kTitle, scale) + layout.column_labels;
    const float height = std::max(area.max.y - top - px(kAxisTitle, scale), px(40, scale));
    const float width = std::max(area.width() - layout.row_labels - bar, px(80, scale));
    bool beside = width > px(340, scale) && height > 4 * between;
    Room size;
    if (is_token_map(equation.result)) {
        const float by_width = beside ? (width - gap + cols * between / (2 * rows)) / (1.5F * cols) : width / cols;
        const float cell = whole(std::min({height / rows, by_width, px(kMostCell, scale)}));
        size = {cell * cols, cell * rows};
    } else {
        size = fit_result(equation.result, {beside ? (width - gap) * 0.66F : width, height}, scale);
    }
    const float side_height = (size.height - between) / 2;
    beside = beside && side_height >= px(20, scale);
    const float side_width = is_token_map(equation.result) ? side_height / rows * cols : std::min(size.width / 2, width - gap - size.width);
    const float x = area.min.x + layout.row_labels;
    layout.result = box(x, top, size.width, size.height);
    layout.operands.assign(equation.operands.size(), Box());
    float right = layout.result.max.x;
    if (beside && equation.operands.size() == 2 && side_width > 2) {
        layout.operands[0] = box(right + gap, top + size.height - side_height, side_width, side_height);
        layout.operands[1] = box(right + gap, top, side_width, side_height);
        right = layout.operands[0].max.x;
    }
    layout.text = box(area.min.x, area.min.y, area.width(), text_height);
    layout.bar = box(right + px(kBarGap, scale), top, bar_width(area, scale), size.height);
    put_in_the_middle(area, layout, false);
}

/// Maps of different texts side by side, each with its own square cells and rows.
void lay_out_apart(const Equation& equation, const Box& area, float scale, float text_height, EquationLayout& layout) {
    const float top = area.min.y + text_height + px(kTextGap + kTitle, scale) + layout.column_labels;
    const float gap = px(kGap + 14, scale) + layout.row_labels, bar = bar_width(area, scale) + px(kBarGap, scale);
    const auto maps = static_cast<float>(equation.operands.size() + 1);
    const Room room{(area.width() - layout.row_labels - bar - gap * (maps - 1)) / maps, area.max.y - top - px(kAxisTitle, scale)};
    float x = area.min.x + layout.row_labels;
    const auto place = [&](const Matrix& matrix) {
        const Room size = fit_result(matrix, room, scale);
        const Box at = box(x, top, size.width, size.height);
        x = at.max.x + gap;
        return at;
    };
    for (const Matrix& operand : equation.operands) layout.operands.push_back(place(operand));
    layout.result = place(equation.result);
    layout.text = box(area.min.x, area.min.y, area.width(), text_height);
    layout.bar =
        box(layout.result.max.x + px(kBarGap, scale), top, bar_width(area, scale), std::max(layout.result.height(), px(120, scale)));
    put_in_the_middle(area, layout, false);
}

EquationLayout lay_out(const Equation& equation, const Box& area, float scale, float text_height, float column_labels) {
    EquationLayout layout;
    layout.row_labels = px(kRowLabels, scale);
    layout.column_labels = px(column_labels, scale);
    if (equation.layout == Layout::Product) lay_out_product(equation, area, scale, layout);
    else if (equation.rows_differ && is_token_map(equation.result)) lay_out_apart(equation, area, scale, text_height, layout);
    else if (has_column_beside(equation)) lay_out_beside(equation, area, scale, layout);
    else if (equation.layout == Layout::Difference) lay_out_difference(equation, area, scale, text_height, layout);
    else lay_out_row(equation, area, scale, text_height, layout);
    return layout;
}

}  // namespace

EquationLayout lay_out_equation(const Equation& equation, const Box& area, float scale, float text_height, bool long_labels) {
    const EquationLayout level = lay_out(equation, area, scale, text_height, long_labels ? kColumnLabels : 4);
    // Labels above narrow columns are slanted, which takes more height.
    const float column = level.result.width() / count(equation.result.data.cols);
    if (!long_labels || column >= px(kWideColumn, scale)) return level;
    return lay_out(equation, area, scale, text_height, kSlantedLabels);
}

}  // namespace attn::app
