#pragma once

#include <stdexcept>

namespace attn::app {

/// The machine lacks something the program needs, such as a display or OpenGL 3.3. The program exits with code 2.
class PlatformError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace attn::app
