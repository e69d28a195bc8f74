#include "app/panels/train/curve_names.hpp"

#include <algorithm>
#include <array>

namespace attn::app {
namespace {

/// Points along a curve at which a name is tried, and the distance between them as a share of the plot's width.
constexpr int kAnchors = 12;
constexpr float kStride = 0.06F;
/// A curve is compared with this many parts of a name's box.
constexpr int kBoxParts = 8;

bool overlap(const Box& a, const Box& b) { return a.min.x < b.max.x && b.min.x < a.max.x && a.min.y < b.max.y && b.min.y < a.max.y; }

bool crosses(const PlotArea& area, const Curve& curve, const Box& box) {
    const auto x_at = [&](float pixel) { return plot_value(area.x, (pixel - area.min.x) / (area.max.x - area.min.x)); };
    const float part = (box.max.x - box.min.x) / kBoxParts;
    for (int i = 0; i < kBoxParts; ++i) {
        const double lo = x_at(box.min.x + part * static_cast<float>(i)), hi = x_at(box.min.x + part * static_cast<float>(i + 1));
        if (curve.empty() || lo > curve.x().back() || hi < curve.x().front()) continue;
        const PointGroup points = curve.raw().gather(points_within(curve.x(), lo, hi));
        if (points.count == 0) continue;
        const float top = area.at_y(static_cast<double>(points.max)), bottom = area.at_y(static_cast<double>(points.min));
        if (top < box.max.y && bottom > box.min.y) return true;
    }
    return false;
}

/// Where a name is tried: around points of the curve, first where it should be, then ever further from there.
std::vector<Box> places_beside(const PlotArea& area, const NamedCurve& named, float gap) {
    const Curve& curve = *named.curve;
    const float wide = named.name.x, high = named.name.y;
    std::vector<Box> places;
    for (int i = 0; i < kAnchors; ++i) {
        const float away = kStride * (area.max.x - area.min.x) * static_cast<float>((i + 1) / 2) * (i % 2 == 1 ? 1.F : -1.F);
        const double x = plot_value(area.x, (area.at_x(named.named_at) + away - area.min.x) / (area.max.x - area.min.x));
        if (x < curve.x().front() || x > curve.x().back()) continue;
        const std::size_t point = nearest_point(curve.x(), x);
        const float at_x = area.at_x(curve.x()[point]), at_y = area.at_y(static_cast<double>(curve.raw().values()[point]));
        const std::array<ImVec2, 6> corners = {ImVec2{at_x + gap, at_y + gap},         {at_x + gap, at_y - gap - high},
                                               {at_x - gap - wide, at_y - gap - high}, {at_x - gap - wide, at_y + gap},
                                               {at_x - wide / 2, at_y - gap - high},   {at_x - wide / 2, at_y + gap}};
        for (const ImVec2& corner : corners) {
            const Box box{corner, {corner.x + wide, corner.y + high}};
            const bool inside = box.min.x >= area.min.x && box.max.x <= area.max.x && box.min.y >= area.min.y && box.max.y <= area.max.y;
            if (inside) places.push_back(box);
        }
    }
    return places;
}

}  // namespace

std::vector<std::optional<Box>> place_names(const PlotArea& area, std::span<const NamedCurve> curves, float gap) {
    std::vector<std::optional<Box>> placed(curves.size());
    const auto is_free = [&](const Box& box, bool of_faint) {
        for (const std::optional<Box>& other : placed)
            if (other && overlap(*other, box)) return false;
        return std::none_of(curves.begin(), curves.end(),
                            [&](const NamedCurve& other) { return (other.bold || of_faint) && crosses(area, *other.curve, box); });
    };
    for (std::size_t i = 0; i < curves.size(); ++i) {
        if (curves[i].name.x <= 0 || curves[i].curve->empty()) continue;
        const std::vector<Box> places = places_beside(area, curves[i], gap);
        for (const bool of_faint : {true, false}) {
            const auto found = std::find_if(places.begin(), places.end(), [&](const Box& box) { return is_free(box, of_faint); });
            if (found == places.end()) continue;
            placed[i] = *found;
            break;
        }
    }
    return placed;
}

}  // namespace attn::app
