#pragma once
/// The line that shows the progress of a long export and can cancel it.

#include <optional>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Seconds before an export is shown; most are done by then.
inline constexpr double kExportShownAfter = 0.3;

/// Notices whether something is being exported; to be called once per frame.
void keep_up_with_export(PanelContext& context);
/// From when on the export under way is shown; none if nothing is exported.
std::optional<double> export_shown_from(const FileView& view);
/// Draws the line above `bottom` if it is due.
void draw_export_line(PanelContext& context, float bottom);

}  // namespace attn::app
