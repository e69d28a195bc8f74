#include "app/platform/offscreen.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/gl/demo_ui.hpp"

namespace attn::app {
namespace {

TEST(Offscreen, TheSameDrawingGivesTheSamePixels) {
    const Image once = render_offscreen({}, draw_demo), again = render_offscreen({}, draw_demo);
    if (const char* file = std::getenv("ATTN_DEMO_PNG")) write_png(file, once);
    EXPECT_EQ(once.pixels, again.pixels);
}

}  // namespace
}  // namespace attn::app
