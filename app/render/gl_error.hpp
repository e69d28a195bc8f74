#pragma once

#include <stdexcept>

namespace attn::app {

/// An OpenGL operation failed; the message names the object and quotes the driver.
class GlError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace attn::app
