#include "app/panels/views/knock_out_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "app/panels/views/knock_out_parts.hpp"
#include "app/panels/views/knock_out_question.hpp"
#include "app/session/values/knock_out.hpp"
#include "app/widgets/number.hpp"

namespace attn::app {

std::vector<std::string> row_names(const KnockOut& result, ReplacedParts parts) {
    std::vector<std::string> names;
    for (std::int64_t row = 0; row < result.grid.rows; ++row) {
        const auto cells = result.grid.parts.begin() + row * result.grid.columns;
        const auto first = std::find_if(cells, cells + result.grid.columns, [](std::int64_t part) { return part != WorthGrid::kNoPart; });
        names.push_back(row_name(result.parts[static_cast<std::size_t>(*first)], parts));
    }
    return names;
}

std::shared_ptr<const NumberTable> table_of_changes(const PanelContext& context, const KnockOut& result, const KnockOutQuestion& question) {
    const ReplacedParts parts = question.parts;
    const WorthGrid& grid = result.grid;
    auto table = std::make_shared<NumberTable>();
    table->row_axis =
        fmt::format("change from {} in {}", format_exact(static_cast<float>(result.with_all), true), question_words(context, question));
    table->row_texts = row_names(result, parts);
    for (std::int64_t column = 0; column < grid.columns; ++column)
        table->column_texts.push_back(column_name(context, result, parts, column));
    table->rows_by_text = true;
    table->columns_by_text = !at_positions(parts) || has_two_texts(result);
    table->rows = grid.rows;
    table->columns = grid.columns;
    table->numbers = grid.changes;
    for (std::size_t i = 0; i < grid.changes.size(); ++i)
        if (grid.measured[i] == 0) table->numbers[i] = std::numeric_limits<float>::quiet_NaN();
    return table;
}

ShownNumbers knock_out_numbers(PanelContext& context) {
    ShownNumbers shown;
    const KnockOutQuestion question = knock_out_question(context);
    shown.title = question.patch ? fmt::format("patching, text {}", question.patch->from + 1) : "knock-out";
    shown.missing = why_not_measured(context, question);
    if (!shown.missing.empty()) return shown;
    shown.missing = "Not every part is measured yet.";
    if (context.view.knock_out.stopped) return shown;  // asking would go on with what was stopped
    const auto answer = context.ask(facet::KnockOut{question});
    if (answer) shown.make_table = [&context, result = answer.value, question] { return table_of_changes(context, *result, question); };
    else if (!answer.problem.empty()) shown.missing = answer.problem;
    return shown;
}

}  // namespace attn::app
