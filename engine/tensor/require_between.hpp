#pragma once
/// Checks that a setting is in its range.

#include <fmt/format.h>

#include "engine/tensor/error.hpp"

namespace attn {

/// Throws ConfigError unless low <= value <= high.
template <class Number>
void require_between(const char* what, Number value, Number low, Number high) {
    // Written so that NaN fails.
    if (!(value >= low && value <= high)) throw ConfigError(fmt::format("{} is {}; expected {} to {}", what, value, low, high));
}

}  // namespace attn
