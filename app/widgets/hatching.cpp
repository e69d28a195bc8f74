#include "app/widgets/hatching.hpp"

namespace attn::app {

void draw_hatching(ImDrawList& list, const Theme& theme, ImVec2 min, ImVec2 max) {
    const float height = max.y - min.y, pitch = theme.px(5);
    list.PushClipRect(min, max, true);
    for (float x = min.x - height; x < max.x; x += pitch) list.AddLine({x, max.y}, {x + height, min.y}, theme.colors.line, theme.px(1));
    list.PopClipRect();
}

}  // namespace attn::app
