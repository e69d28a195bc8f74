#pragma once
/// A small UI that shows every font, both kinds of maps, and masked and non-finite numbers.

#include "app/platform/frame.hpp"

namespace attn::app {

void draw_demo(Frame& frame);

}  // namespace attn::app
