#pragma once
/// One colour for each head, told apart by eyes of every common kind.

#include <cstdint>

#include "app/widgets/theme.hpp"

namespace attn::app {

/// After this many heads the colours begin again, and head_round() tells the heads of a colour apart.
inline constexpr std::int64_t kHeadColors = 8;

/// Every colour stands out from the pane by at least 3 : 1; any two are far apart for full colour vision and without red, green or blue
/// cones.
Color head_color(const Palette& colors, std::int64_t head);
/// How often the colours have begun again before this head: lines of later rounds are dashed.
constexpr std::int64_t head_round(std::int64_t head) { return head < 0 ? 0 : head / kHeadColors; }

}  // namespace attn::app
