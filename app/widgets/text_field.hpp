#pragma once
/// A single-line text field for paths and names.

#include <string>

#include "app/widgets/controls.hpp"

namespace attn::app {

/// True if Enter was pressed in it. `width` as for buttons.
bool text_field(const Ui& ui, const char* id, std::string& text, const char* hint, float width = -1, const ControlNotes& notes = {});

}  // namespace attn::app
