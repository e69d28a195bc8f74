#pragma once
/// Lines that are told apart by their dashes, not by colour alone.

#include <imgui.h>

#include <cstdint>

#include "app/widgets/theme.hpp"

namespace attn::app {

enum class Dash : std::uint8_t { Solid, Dashed, Dotted, DashDot };
inline constexpr std::int64_t kDashes = 4;
/// The dash of the n-th of several lines of the same colour; they repeat.
constexpr Dash dash_of(std::int64_t n) { return static_cast<Dash>(n % kDashes); }

/// Strokes the draw list's path, and clears it. `unit`: the length of a dot.
void stroke_dashed(ImDrawList& list, Dash dash, Color color, float thickness, float unit);

}  // namespace attn::app
