#pragma once
/// The line that tells how far a long export is, and cancels it.

#include <optional>

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Seconds before an export is shown, in which most are done.
inline constexpr double kExportShownAfter = 0.3;

/// Notices whether something is being exported; to be called once per frame.
void keep_up_with_export(PanelContext& context);
/// From when on the export under way is shown; none if nothing is exported.
std::optional<double> export_shown_from(const FileView& view);
/// Draws the line above `bottom` if it is due; returns where what is above it may end.
float draw_export_line(PanelContext& context, float bottom);

}  // namespace attn::app
