#include "app/panels/views/knock_out_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/panels/views/knock_out_parts.hpp"
#include "app/panels/views/knock_out_question.hpp"
#include "app/widgets/number.hpp"

namespace attn::app {

WorthMap map_of(const PanelContext& context, const KnockOut& result, ReplacedParts parts) {
    WorthMap map;
    for (const PartWorth& part : result.parts) map.width = std::max(map.width, column_of(part, parts) + 1);
    const PartWorth* before = nullptr;
    for (const PartWorth& part : result.parts) {
        if (before == nullptr || !in_one_row(*before, part, parts)) {
            map.rows.push_back(row_name(part, parts));
            map.parts.resize(map.rows.size() * static_cast<std::size_t>(map.width));
        }
        map.parts[(map.rows.size() - 1) * static_cast<std::size_t>(map.width) + static_cast<std::size_t>(column_of(part, parts))] = &part;
        before = &part;
    }
    for (const PartWorth* part : map.parts) {
        const bool measured = part != nullptr && part->measured;
        const float value = measured ? static_cast<float>(change(result, *part)) : 0;
        map.values.push_back(value);
        map.measured.push_back(measured ? 1 : 0);
        if (std::isfinite(value)) map.reach = std::max(map.reach, std::abs(value));
    }
    for (std::int64_t i = 0; i < map.width; ++i) map.columns.push_back(column_name(context, result, parts, i));
    return map;
}

std::shared_ptr<const NumberTable> table_of_changes(const PanelContext& context, const KnockOut& result, const KnockOutQuestion& question) {
    const ReplacedParts parts = question.parts;
    const WorthMap map = map_of(context, result, parts);
    auto table = std::make_shared<NumberTable>();
    table->row_axis =
        fmt::format("change from {} in {}", format_exact(static_cast<float>(result.with_all), true), question_words(context, question));
    table->row_texts = map.rows;
    table->column_texts = map.columns;
    table->rows_by_text = true;
    table->columns_by_text = !at_positions(parts) || has_two_texts(result);
    table->rows = static_cast<std::int64_t>(map.rows.size());
    table->columns = map.width;
    table->numbers = map.values;
    for (std::size_t i = 0; i < map.values.size(); ++i)
        if (map.measured[i] == 0) table->numbers[i] = std::numeric_limits<float>::quiet_NaN();
    return table;
}

}  // namespace attn::app
