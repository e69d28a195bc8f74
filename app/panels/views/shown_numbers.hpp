#pragma once
/// The numbers that a view shows, for copying and exporting.

#include <functional>
#include <memory>
#include <string>

#include "app/panels/kit/panel_context.hpp"
#include "app/session/document/number_table.hpp"
#include "app/session/numbers/number_desk.hpp"

namespace attn::app {

struct ShownNumbers {
    Matrix matrix;  ///< empty if there are none, and if they are in a table
    /// Of a view that shows no matrix of a trace. Called when they are written, because a table may have thousands of names.
    std::function<std::shared_ptr<const NumberTable>()> make_table{};
    std::string title{};    ///< such as "weights, B − A"
    std::string missing{};  ///< why there are none, a sentence
    bool is_stage = true;   ///< they are those of the stage, unchanged: a slice of its values or gradients
    bool empty() const { return matrix.empty() && !make_table; }
};
/// Whether the view shows slices of a stage, which can also be exported whole.
bool shows_stages(View view);
/// The numbers of the views that show a stage.
ShownNumbers stage_numbers(PanelContext& context);
/// Of the current view; valid as long as the context.
ShownNumbers shown_numbers(PanelContext& context);
/// A copy with the tokens of rows and columns.
std::shared_ptr<const NumberTable> table_of(const PanelContext& context, const ShownNumbers& shown);

}  // namespace attn::app
