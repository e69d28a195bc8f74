#pragma once
/// The numbers of the logit lens, for copying and exporting, and the names of its rows.

#include <cstddef>
#include <memory>
#include <string>

#include "app/panels/kit/panel_context.hpp"
#include "app/panels/views/shown_numbers.hpp"
#include "app/session/document/number_table.hpp"
#include "app/session/values/readings.hpp"

namespace attn::app {

/// Such as "layer 3, output".
std::string lens_row_name(const LogitLens& lens, std::size_t row);

/// The probability that each row gives the token that follows each position (of an encoder, the one that stands there) in a text. NaN where
/// none follows and in rows that are not computed yet.
std::shared_ptr<const NumberTable> table_of_lens(const PanelContext& context, const LogitLens& lens, std::int64_t batch);
/// Of the shown state, also while it is compared with another.
ShownNumbers lens_numbers(PanelContext& context);

}  // namespace attn::app
