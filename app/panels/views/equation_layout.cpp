#include "app/panels/views/equation_layout.hpp"

#include <algorithm>
#include <cmath>

namespace attn::app {
namespace {

// Logical pixels.
constexpr float kRowLabels = 62, kColumnLabels = 20, kGap = 34, kBar = 168, kNarrowBar = 66, kBarGap = 26, kTitle = 22, kAxisTitle = 20;
constexpr float kMostCell = 84, kStrip = 14, kStripGap = 5, kSums = 46, kTextGap = 16;

float px(float logical, float scale) { return std::floor(logical * scale); }
float count(std::int64_t n) { return static_cast<float>(std::max<std::int64_t>(n, 1)); }

Box box(float x, float y, float w, float h) { return {{std::floor(x), std::floor(y)}, {std::floor(x + w), std::floor(y + h)}}; }

/// Room for the colour bar and, where the area is wide enough, the statistics beside it.
float bar_width(const Box& area, float scale) { return px(area.width() > px(780, scale) ? kBar : kNarrowBar, scale); }

struct Room {
    float width, height;
};

/// Size of the result: cells no larger than kMostCell, and not much wider than high.
Room fit_result(const Matrix& result, Room room, float scale) {
    const float most = px(kMostCell, scale);
    const float rows = count(result.data.rows), cols = count(result.data.cols);
    float height = std::min(room.height, rows * most);
    const float width = std::min(room.width, cols * std::min(most, std::max(height / rows * 1.8F, px(26, scale))));
    // A single row or a few rows should not become a wall either.
    height = std::min(height, rows * std::max(width / cols * 3.F, px(44, scale)));
    return {width, height};
}

void lay_out_product(const Equation& equation, const Box& area, float scale, EquationLayout& layout) {
    const Matrix& left = equation.operands[0];
    const bool has_bias = equation.operands.size() > 2;
    const float labels = layout.row_labels, gap = px(kGap, scale);
    const float bar = bar_width(area, scale) + px(kBarGap, scale);
    const float usable = std::max(area.width() - labels - gap - bar, px(160, scale));
    const float share = std::clamp(count(left.data.cols) / (count(left.data.cols) + count(equation.result.data.cols)), 0.18F, 0.3F);
    const float strip = has_bias ? px(kStrip + kStripGap, scale) : 0;
    const float below_top = strip + layout.column_labels + px(6, scale);
    const float usable_height = area.height() - px(kAxisTitle, scale) - below_top;
    const float top_share = std::clamp(count(left.data.cols) / (count(left.data.cols) + count(equation.result.data.rows)), 0.16F, 0.27F);
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
    layout.bar = box(layout.result.max.x + px(kBarGap, scale), result_y, bar_width(area, scale), size.height);
}

/// Matrices in a row, all with the result's height: widths follow their columns, each at least `least`.
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

    // What goes into a row-wise step was a result itself one step before: it may be narrower.
    const float operand_share = rowwise ? 0.62F : 1.F;
    float columns = count(equation.result.data.cols);
    for (std::size_t i = 0; i < in_row; ++i) columns += operand_share * count(equation.operands[i].data.cols);
    const float top = area.min.y + text_height + px(kTextGap + kTitle, scale) + strips_height + layout.column_labels;
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
}

}  // namespace

EquationLayout lay_out_equation(const Equation& equation, const Box& area, float scale, float text_height, bool long_labels) {
    EquationLayout layout;
    layout.row_labels = px(kRowLabels, scale);
    layout.column_labels = long_labels ? px(kColumnLabels, scale) : px(4, scale);
    if (equation.layout == Layout::Product) lay_out_product(equation, area, scale, layout);
    else lay_out_row(equation, area, scale, text_height, layout);
    return layout;
}

}  // namespace attn::app
