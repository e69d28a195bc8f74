#pragma once
/// Counts as texts show them.

#include <cstdint>
#include <string>

namespace attn {

/// "12,345" for 12345. Throws nothing but std::bad_alloc; `count` must not be negative.
inline std::string count_text(std::int64_t count) {
    std::string text = std::to_string(count);
    for (std::int64_t at = static_cast<std::int64_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
    return text;
}

}  // namespace attn
