#pragma once
/// The doctor's report on a file of other code: its findings, and the numbers of one as recorded and as expected.

#include "app/panels/kit/panel_context.hpp"
#include "app/session/values/doctor_report.hpp"

namespace attn::app {

/// The report on the file opened last; null if there is none, or the user has closed it.
const DoctorReport* open_dump(const PanelContext& context);
void close_dump(PanelContext& context);
/// Whether the doctor's view is about that file alone, and nothing of the shown model belongs to it.
inline bool is_about_dump(const PanelContext& context) { return context.view.view == View::Doctor && open_dump(context) != nullptr; }

/// Of those findings that can be shown beside what was expected, the chosen one; null if there is none.
const doctor::Finding* chosen_finding(const PanelContext& context);
void choose_finding(PanelContext& context, const doctor::Finding& finding);
/// Chooses the next (+1) or previous (-1) of them.
void step_finding(PanelContext& context, int direction);

/// Such as "layers.0.attention.weights[0,1,3,2]".
std::string place_text(const doctor::Finding& finding);

/// Draws the maps around its cell as recorded, as expected, and their difference, at the cursor.
void draw_recorded_beside_expected(PanelContext& context);
/// Draws the two numbers in the pane of the cell.
void draw_recorded_cell(PanelContext& context);

}  // namespace attn::app
