#pragma once
/// The engine's exception types: every message names the real shapes, values or file places.

#include <stdexcept>
#include <string>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "attnscope needs infinities and NaN: build without -ffast-math"
#endif

namespace attn {

/// Base of everything the engine throws on purpose.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Tensors whose shapes do not match; the message prints both shapes.
class ShapeError : public Error {
public:
    using Error::Error;
};

/// A model or mask setting that cannot work, such as d_model not divisible by num_heads.
class ConfigError : public Error {
public:
    using Error::Error;
};

/// A file that is missing, malformed or unwritable; the message names the file and the place.
class IoError : public Error {
public:
    using Error::Error;
};

/// Ends a computation whose result is no longer wanted.
class Cancelled : public Error {
public:
    Cancelled() : Error("cancelled") {}
};

}  // namespace attn
