#pragma once
/// A colour for each head, distinguishable with all common forms of colour blindness.

#include <cstdint>

#include "app/widgets/theme.hpp"

namespace attn::app {

/// After this many heads the colours repeat; head_round() distinguishes heads of the same colour.
inline constexpr std::int64_t kHeadColors = 8;

/// Every colour has a contrast of at least 3 : 1 to the pane, and any two are clearly different for normal vision and without red, green or
/// blue cones.
Color head_color(const Palette& colors, std::int64_t head);
/// How many times the colours have been repeated before this head; lines of later rounds are dashed.
constexpr std::int64_t head_round(std::int64_t head) { return head < 0 ? 0 : head / kHeadColors; }

}  // namespace attn::app
