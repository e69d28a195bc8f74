#pragma once
/// Numbers for the clipboard: the chosen one, its row, or the whole map that is shown.

#include "app/panels/panel_context.hpp"

namespace attn::app {

enum class CopyPart : std::uint8_t { Value, Row, Map };

/// As text: rows on lines, numbers separated by tabs and exact, masked cells empty. Says what was copied, or why nothing was.
void copy_numbers(PanelContext& context, CopyPart part);
/// The picture in the centre, as the text of an SVG file.
void copy_picture(PanelContext& context);

}  // namespace attn::app
