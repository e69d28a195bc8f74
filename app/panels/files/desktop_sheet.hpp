#pragma once
/// Switching between our own file sheets and the desktop's file dialog.

#include <filesystem>
#include <optional>
#include <string_view>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Opens the desktop's dialog for the task's path, starting at the current path.
void ask_desktop(PanelContext& context, DesktopQuestion::What what);
/// Closes the desktop's dialog, if open, and clears its result.
void forget_desktop(FileView& view);
/// The heading of one of our sheets, with a link to the desktop's dialog if there is one, and below it the reason if that could not be
/// opened.
void draw_sheet_heading(PanelContext& context, std::string_view title, DesktopQuestion::What what);
/// Shown while the desktop's dialog is open, with a link back to our sheet.
void draw_desktop_sheet(PanelContext& context);
/// The path chosen in the dialog, returned once. If the dialog failed, our sheet is shown instead.
std::optional<std::filesystem::path> take_desktop_path(PanelContext& context);

}  // namespace attn::app
