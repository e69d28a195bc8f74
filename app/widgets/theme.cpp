#include "app/widgets/theme.hpp"

namespace attn::app {

namespace {

/// Converts 0xRRGGBB, as written below, to 0xAABBGGRR, as stored.
constexpr Color rgb(std::uint32_t hex) { return 0xFF000000U | (hex & 0xFFU) << 16 | (hex & 0xFF00U) | (hex >> 16); }

constexpr Palette kDarkPalette{
    .dark = true,
    .window = rgb(0x121419),
    .pane = rgb(0x191C22),
    .raised = rgb(0x22262E),
    .line = rgb(0x2D323C),
    .text = rgb(0xE8EAEE),
    .muted = rgb(0xA8B0BC),
    .faint = rgb(0x868E9B),
    .accent = rgb(0x5AA9FF),
    .on_accent = rgb(0x0B1623),
    .chosen = rgb(0xFFC857),
    .chosen_text = rgb(0xFFC857),
    .good = rgb(0x4CC38A),
    .bad = rgb(0xFF6B6B),
    .axis_b = rgb(0xA8B0BC),
    .axis_h = rgb(0xBFA0FF),
    .axis_t = rgb(0x4FC8F0),
    .axis_s = rgb(0xFFB454),
    .axis_c = rgb(0x86DB98),
    .axis_d = rgb(0xF799BB),
    .axis_v = rgb(0xE5D35B),
    .axis_f = rgb(0x5FD3C0),
};

constexpr Palette kLightPalette{
    .dark = false,
    .window = rgb(0xF4F5F7),
    .pane = rgb(0xFFFFFF),
    .raised = rgb(0xEEF0F3),
    .line = rgb(0xD8DCE2),
    .text = rgb(0x16191E),
    .muted = rgb(0x4A5360),
    .faint = rgb(0x656E7B),
    .accent = rgb(0x1769C2),
    .on_accent = rgb(0xFFFFFF),
    .chosen = rgb(0xC77700),
    .chosen_text = rgb(0x945800),
    .good = rgb(0x187A4B),
    .bad = rgb(0xC62F2F),
    .axis_b = rgb(0x4A5360),
    .axis_h = rgb(0x6B3FD1),
    .axis_t = rgb(0x00708F),
    .axis_s = rgb(0x9C5400),
    .axis_c = rgb(0x1E7A36),
    .axis_d = rgb(0xB8336F),
    .axis_v = rgb(0x7D6B00),
    .axis_f = rgb(0x0B7466),
};

}  // namespace

const Palette& palette(bool dark) { return dark ? kDarkPalette : kLightPalette; }

Color Palette::axis(Axis axis) const {
    switch (axis) {
    case Axis::B:
        return axis_b;
    case Axis::H:
    case Axis::G:
        return axis_h;
    case Axis::T:
        return axis_t;
    case Axis::S:
        return axis_s;
    case Axis::C:
        return axis_c;
    case Axis::D:
        return axis_d;
    case Axis::V:
        return axis_v;
    case Axis::F:
        return axis_f;
    case Axis::L:
    case Axis::N:
        return muted;
    }
    return muted;
}

}  // namespace attn::app
