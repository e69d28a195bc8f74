#include "app/widgets/canvas.hpp"

#include <imgui.h>

namespace attn::app {

void Canvas::fill(ImDrawList& list, const ImVec2& min, const ImVec2& max, std::uint32_t color) { list.AddRectFilled(min, max, color); }

}  // namespace attn::app
