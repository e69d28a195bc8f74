#include "app/widgets/value_bar.hpp"

#include <algorithm>
#include <cmath>

namespace attn::app {

void value_bar(ImDrawList& list, ImVec2 base, ImVec2 whole, double share, Color color, float rounding) {
    if (!(share != 0) || std::isnan(share)) return;
    const float reach = static_cast<float>(std::clamp(share, -1.0, 1.0)) * (whole.x - base.x);
    const float from = std::round(base.x), pixels = std::max(1.F, std::round(std::abs(reach)));
    const float to = from + (std::signbit(reach) ? -pixels : pixels);
    list.AddRectFilled({std::min(from, to), base.y}, {std::max(from, to), whole.y}, color, pixels > 2 * rounding ? rounding : 0);
}

}  // namespace attn::app
