#pragma once

#include <imgui.h>

#include "app/widgets/theme.hpp"

namespace attn::app {

/// Draws a bar whose length stands for a number. `base` is the upper corner where it begins, `whole` the lower corner where it ends for a
/// share of 1; a negative share goes the other way. Whole pixels, at least one for any share but 0, so that a bar is never missing beside
/// that of a smaller number; none for 0 and NaN.
void value_bar(ImDrawList& list, ImVec2 base, ImVec2 whole, double share, Color color, float rounding = 0);

}  // namespace attn::app
