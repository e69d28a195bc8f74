#pragma once
/// A small user interface that shows every font, both kinds of maps and what masked and strange numbers look like.

#include "app/platform/frame.hpp"

namespace attn::app {

void draw_demo(Frame& frame);

}  // namespace attn::app
