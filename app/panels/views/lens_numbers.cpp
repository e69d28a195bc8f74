#include "app/panels/views/lens_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "app/panels/kit/labels.hpp"
#include "app/session/values/readings.hpp"

namespace attn::app {

std::string lens_row_name(const LogitLens& lens, std::size_t row) {
    return row == 0 ? std::string("embedding") : fmt::format("layer {}{}", row - 1, row + 1 == lens.stages.size() ? ", output" : "");
}

std::shared_ptr<const NumberTable> table_of_lens(const PanelContext& context, const LogitLens& lens, std::int64_t batch) {
    auto table = std::make_shared<NumberTable>();
    table->row_axis = "layer";
    table->rows_by_text = true;
    table->rows = static_cast<std::int64_t>(lens.stages.size());
    const std::int64_t text = std::min(batch, lens.batches - 1);
    table->columns = context.structure().tokens_of(lens.stages.front().stack).lengths[static_cast<std::size_t>(text)];
    table->column_texts = axis_labels(context, lens.stages.front(), Axis::T, table->columns);
    for (std::size_t row = 0; row < lens.stages.size(); ++row) {
        table->row_texts.push_back(lens_row_name(lens, row));
        for (std::int64_t t = 0; t < table->columns; ++t) {
            const LensCell& cell = lens.at(row, text, t);
            const bool known = lens.known[row] != 0 && cell.next >= 0 && cell.count > 0;
            table->numbers.push_back(known ? cell.next_probability : std::numeric_limits<float>::quiet_NaN());
        }
    }
    return table;
}

ShownNumbers lens_numbers(PanelContext& context) {
    ShownNumbers shown;
    shown.title = "lens, probability of the text" + std::string(context.view.compare.on() ? ", B" : "");
    if (const auto answer = context.ask(facet::Lens{}); answer && answer->lens)
        shown.make_table = [&context, readings = answer.value] { return table_of_lens(context, *readings->lens, context.view.batch); };
    else shown.missing = answer.problem;
    return shown;
}

}  // namespace attn::app
