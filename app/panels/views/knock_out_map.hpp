#pragma once
/// The changes that a knock-out measured, as a matrix.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/panels/panel_context.hpp"
#include "app/session/document/number_table.hpp"

namespace attn::app {

/// The measure with the part replaced, minus that with nothing replaced.
inline double change(const KnockOut& result, const PartWorth& part) { return part.without - result.with_all; }

/// Rows are layers or the attentions in them, columns are heads, blocks or positions.
struct WorthMap {
    std::vector<float> values;            ///< [rows,width], 0 where nothing is measured
    std::vector<std::uint8_t> measured;   ///< [rows,width]
    std::vector<const PartWorth*> parts;  ///< [rows,width], null where a row has fewer parts than another
    std::vector<std::string> rows, columns;
    std::int64_t width = 0;
    float reach = 0;  ///< largest magnitude
};
WorthMap map_of(const PanelContext& context, const KnockOut& result, ReplacedParts parts);

/// The same for copying and exporting; the axis of the rows says what is measured.
std::shared_ptr<const NumberTable> table_of_changes(const PanelContext& context, const KnockOut& result, const KnockOutQuestion& question);

}  // namespace attn::app
