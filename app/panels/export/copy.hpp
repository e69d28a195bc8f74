#pragma once
/// Copies numbers to the clipboard: the selected one, its row, or the whole map; of Lens and Knock-out, all with their names.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

enum class CopyPart : std::uint8_t { Value, Row, Map };

/// As text: one line per row, exact numbers separated by tabs, masked cells empty. A notice says what was copied, or why nothing was.
void copy_numbers(PanelContext& context, CopyPart part);
/// Copies the centre picture as SVG text.
void copy_picture(PanelContext& context);

}  // namespace attn::app
