#pragma once
/// A rectangle on the screen, in pixels.

#include <imgui.h>

namespace attn::app {

struct Box {
    ImVec2 min{0, 0}, max{0, 0};
    float width() const { return max.x - min.x; }
    float height() const { return max.y - min.y; }
};

}  // namespace attn::app
