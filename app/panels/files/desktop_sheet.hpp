#pragma once
/// The desktop's own file dialog in the place of our sheets, and the way from each to the other.

#include <filesystem>
#include <optional>
#include <string_view>

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Has the desktop ask for the path of the task, beginning where the view's path is.
void ask_desktop(PanelContext& context, DesktopQuestion::What what);
/// Closes the desktop's dialog, if it is open, and what it had to say.
void forget_desktop(FileView& view);
/// Heading of a sheet of ours, with the way to the desktop's dialog at its right end where there is one. Below it, why that could not be
/// opened.
void draw_sheet_heading(PanelContext& context, std::string_view title, DesktopQuestion::What what);
/// While the desktop's dialog is open: says so, and leads back.
void draw_desktop_sheet(PanelContext& context);
/// What was chosen in it, once. Where it failed, our sheet takes its place.
std::optional<std::filesystem::path> take_desktop_path(PanelContext& context);

}  // namespace attn::app
