#include "app/render/color_map.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>
#include <vector>

namespace attn::app {

namespace {

struct Lab {
    double l, a, b;
};

double to_linear(double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); }
double from_linear(double c) { return c <= 0.0031308 ? 12.92 * c : 1.055 * std::pow(c, 1 / 2.4) - 0.055; }

double channel(std::uint32_t color, int shift) { return static_cast<double>((color >> shift) & 0xFFU) / 255; }

/// OKLab, from B. Ottosson, "A perceptual color space for image processing" (2020).
Lab to_lab(std::uint32_t color) {
    const double r = to_linear(channel(color, 0)), g = to_linear(channel(color, 8)), b = to_linear(channel(color, 16));
    const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
    const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
    const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
    return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s, 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
            0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

std::uint32_t to_byte(double linear) { return static_cast<std::uint32_t>(std::lround(255 * std::clamp(from_linear(linear), 0.0, 1.0))); }

std::uint32_t to_color(const Lab& lab) {
    const double l = std::pow(lab.l + 0.3963377774 * lab.a + 0.2158037573 * lab.b, 3);
    const double m = std::pow(lab.l - 0.1055613458 * lab.a - 0.0638541728 * lab.b, 3);
    const double s = std::pow(lab.l - 0.0894841775 * lab.a - 1.2914855480 * lab.b, 3);
    return 0xFF000000U | to_byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s) |
           to_byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s) << 8 |
           to_byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s) << 16;
}

/// Converts 0xRRGGBB, as written below, to 0xAABBGGRR, as stored.
constexpr std::uint32_t rgb(std::uint32_t hex) { return 0xFF000000U | (hex & 0xFFU) << 16 | (hex & 0xFF00U) | (hex >> 16); }

std::vector<std::uint32_t> control_points(ColorMap map, const HeatmapTheme& theme) {
    switch (map) {
    case ColorMap::Auto:
        break;
    case ColorMap::Sequential:
        if (theme.dark) return {theme.pane, rgb(0x1D3F66), rgb(0x2F77BD), rgb(0x7CC0FF), rgb(0xE6F4FF)};
        return {theme.pane, rgb(0xC9DFF5), rgb(0x7FB3E6), rgb(0x2F77BD), rgb(0x0B2E59)};
    case ColorMap::Diverging:
        if (theme.dark) return {rgb(0x4C9BFF), rgb(0x24507F), theme.pane, rgb(0x8A4A1E), rgb(0xFF9A4D)};
        return {rgb(0x1F6FD0), rgb(0xA9C9F0), theme.pane, rgb(0xF4C39B), rgb(0xD2691E)};
    case ColorMap::Viridis:
        return {rgb(0x440154), rgb(0x482878), rgb(0x3E4A89), rgb(0x31688E), rgb(0x26828E),
                rgb(0x1F9E89), rgb(0x35B779), rgb(0x6DCD59), rgb(0xB4DE2C), rgb(0xFDE725)};
    case ColorMap::Cividis:
        return {rgb(0x00204D), rgb(0x00336F), rgb(0x39486B), rgb(0x575C6D), rgb(0x707173),
                rgb(0x8A8779), rgb(0xA69D75), rgb(0xC4B56C), rgb(0xE4CF5B), rgb(0xFFEA46)};
    case ColorMap::Grey:
        return {theme.pane, theme.text};
    }
    throw std::invalid_argument("a colour map must be chosen before it is drawn");
}

}  // namespace

ColorTable color_table(ColorMap map, const HeatmapTheme& theme) {
    const std::vector<std::uint32_t> points = control_points(map, theme);
    const auto segments = static_cast<int>(points.size()) - 1;
    ColorTable table{};
    for (int i = 0; i < kColorTableSize; ++i) {
        const double at = static_cast<double>(i) * segments / (kColorTableSize - 1);
        const int segment = std::min(static_cast<int>(at), segments - 1);
        const double t = at - segment;
        const Lab from = to_lab(points[static_cast<std::size_t>(segment)]), to = to_lab(points[static_cast<std::size_t>(segment) + 1]);
        table[static_cast<std::size_t>(i)] =
            to_color({from.l + (to.l - from.l) * t, from.a + (to.a - from.a) * t, from.b + (to.b - from.b) * t});
    }
    return table;
}

int color_index(float place) { return static_cast<int>(std::lround(place * (kColorTableSize - 1))); }

}  // namespace attn::app
