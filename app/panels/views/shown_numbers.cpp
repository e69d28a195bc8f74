#include "app/panels/views/shown_numbers.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/compare/shown_maps.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/maps/gradients.hpp"
#include "app/panels/views/view_table.hpp"

namespace attn::app {
namespace {

/// The other views of stages leave out the first key, or multiply by the norm of values, if that is wanted; the Step view does not. Lines
/// are drawn of one state at a time, never of a difference.
Matrix matrix_of_stage(PanelContext& context) {
    const ViewState& view = context.view;
    if (view.compare.on() && view.view == View::Lines) return slice_of(context, compared_sides(context, view.stage, view.head).b);
    if (view.view == View::Step && !view.compare.on() && !shows_gradients(context))
        return slice_of(context, shown_side(context, view.stage, view.head));
    return shown_slice(context, view.stage, view.head);
}

}  // namespace

ShownNumbers stage_numbers(PanelContext& context) {
    const StageId& id = context.view.stage;
    ShownNumbers shown{matrix_of_stage(context)};
    const bool compares = context.view.compare.on();
    shown.title = context.structure().plan->name_of(id);
    if (compares && context.view.view != View::Step) shown.title += fmt::format(", layer {}, head {}", id.layer, context.view.head);
    if (shown.matrix.is_difference) shown.title += context.view.compare.swapped ? ", A − B" : ", B − A";
    else if (compares) shown.title += words_of_side(context);
    else if (shown.matrix.is_gradient) shown.title += ", gradients";
    else if (context.view.view != View::Step) shown.title += measure_words(context, id);
    shown.is_stage = !compares && (shown.matrix.is_gradient || shown.matrix.name == tensor_name(id));
    return shown;
}

bool shows_stages(View view) { return view == View::Step || view == View::Heads || view == View::Grid || view == View::Lines; }

ShownNumbers shown_numbers(PanelContext& context) {
    if (!context.ready()) return {};
    const auto numbers = panels_of(context.view.view).numbers;
    ShownNumbers shown;
    if (numbers != nullptr) shown = numbers(context);
    else shown.missing = "The numbers of this view cannot be copied or exported; those of stages, Totals, Lens and Knock-out can.";
    shown.is_stage = shown.is_stage && shows_stages(context.view.view);
    if (shown.empty() && shown.missing.empty()) shown.missing = "There are no numbers here yet.";
    return shown;
}

std::shared_ptr<const NumberTable> table_of(const PanelContext& context, const ShownNumbers& shown) {
    if (shown.make_table) return shown.make_table();
    const Matrix& matrix = shown.matrix;
    const StageId id = matrix.origin && matrix.origin->parameter.empty() ? matrix.origin->stage : context.view.stage;
    const auto texts = [&](Axis axis, std::int64_t count) {
        const bool named = axis == Axis::T || axis == Axis::S || axis == Axis::V;
        return named ? axis_labels(context, id, axis, count, matrix.labelled_by) : std::vector<std::string>();
    };
    auto table = std::make_shared<NumberTable>();
    table->row_axis = std::string(axis_title(matrix.row_axis));
    table->row_texts = texts(matrix.row_axis, matrix.data.rows);
    table->column_texts = texts(matrix.col_axis, matrix.data.cols);
    table->rows = matrix.data.rows;
    table->columns = matrix.data.cols;
    table->numbers.reserve(static_cast<std::size_t>(table->rows * table->columns));
    for (std::int64_t row = 0; row < table->rows; ++row)
        for (std::int64_t col = 0; col < table->columns; ++col)
            table->numbers.push_back(matrix.masked(row, col) ? std::numeric_limits<float>::quiet_NaN() : matrix.at(row, col));
    return table;
}

}  // namespace attn::app
