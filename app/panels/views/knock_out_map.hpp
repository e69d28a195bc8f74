#pragma once
/// The changes that a knock-out measured, as a table.

#include <memory>
#include <string>
#include <vector>

#include "app/panels/kit/panel_context.hpp"
#include "app/panels/views/shown_numbers.hpp"
#include "app/session/document/number_table.hpp"

namespace attn::app {

/// The names of the grid's rows.
std::vector<std::string> row_names(const KnockOut& result, ReplacedParts parts);

/// The grid for copying and exporting; the axis of the rows says what is measured.
std::shared_ptr<const NumberTable> table_of_changes(const PanelContext& context, const KnockOut& result, const KnockOutQuestion& question);
/// Its numbers for copying and exporting.
ShownNumbers knock_out_numbers(PanelContext& context);

}  // namespace attn::app
