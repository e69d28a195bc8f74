/// Tests that render: visibly skipped as a whole without OpenGL 3.3, or failed if ATTN_REQUIRE_GL=1.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "app/platform/gl_window.hpp"
#include "app/platform/platform_error.hpp"

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    const char* require = std::getenv("ATTN_REQUIRE_GL");
    try {
        const attn::app::GlWindow probe("attnscope", {}, false);
    } catch (const attn::app::PlatformError& error) {
        std::cout << "SKIPPED: " << error.what() << '\n';
        return require != nullptr && std::string_view(require) == "1" ? 1 : 77;
    }
    return RUN_ALL_TESTS();
}
