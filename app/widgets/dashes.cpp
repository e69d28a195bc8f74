#include "app/widgets/dashes.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace attn::app {
namespace {

/// A longer piece reaches far out of the picture and is drawn solid; less of a dash is taken as its end. Both keep positions exact enough.
constexpr float kLongest = 8192, kLeast = 0.01F;

/// Drawn and left out in turn, in units.
std::span<const float> lengths_of(Dash dash) {
    static constexpr float kDashed[] = {4, 2.5F}, kDotted[] = {1, 2}, kDashDot[] = {5, 2, 1, 2};
    switch (dash) {
    case Dash::Solid:
        break;
    case Dash::Dashed:
        return kDashed;
    case Dash::Dotted:
        return kDotted;
    case Dash::DashDot:
        return kDashDot;
    }
    return {};
}

}  // namespace

void stroke_dashed(ImDrawList& list, Dash dash, Color color, float thickness, float unit) {
    if (dash == Dash::Solid) return list.PathStroke(color, 0, thickness);
    const std::vector<ImVec2> path(list._Path.begin(), list._Path.end());
    list.PathClear();
    const std::span<const float> lengths = lengths_of(dash);
    std::size_t part = 0;
    float left = lengths[0] * unit;
    for (std::size_t i = 1; i < path.size(); ++i) {
        const ImVec2 from = path[i - 1], to = path[i];
        const float length = std::hypot(to.x - from.x, to.y - from.y);
        if (!(length < kLongest)) {
            list.AddLine(from, to, color, thickness);
            continue;
        }
        const auto at = [&](float done) {
            return ImVec2(from.x + (to.x - from.x) * done / length, from.y + (to.y - from.y) * done / length);
        };
        for (float done = 0; done < length;) {
            const float next = std::min(done + left, length);
            if (part % 2 == 0) list.AddLine(at(done), at(next), color, thickness);
            left -= next - done;
            done = next;
            if (left > kLeast) continue;
            part = (part + 1) % lengths.size();
            left = lengths[part] * unit;
        }
    }
}

}  // namespace attn::app
