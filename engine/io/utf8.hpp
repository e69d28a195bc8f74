#pragma once
/// Decodes untrusted UTF-8, one code point at a time.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// The code point at the front of a text, or a single byte of invalid UTF-8 (overlong forms, surrogates and values beyond U+10FFFF are
/// invalid).
struct Utf8Unit {
    char32_t code_point = 0;  ///< the byte's value if invalid
    std::size_t bytes = 1;
    bool valid = true;
};

/// `text` must not be empty. RFC 3629.
Utf8Unit first_utf8(std::string_view text);
/// Offset of the first byte of invalid UTF-8.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

}  // namespace attn
