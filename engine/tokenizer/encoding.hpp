#pragma once
/// A text as ids, each with the place it comes from.

#include <cstdint>
#include <string_view>
#include <vector>

namespace attn {

/// One token of an encoded text.
struct EncodedToken {
    std::int32_t id = 0;
    std::uint32_t begin = 0, end = 0;  ///< bytes of the typed text; 0, 0 for a token that the template added
    std::int32_t type = 0;             ///< segment: 0 for the first text of a pair, 1 for the second, unless the template says otherwise
    bool from_template = false;
    std::uint32_t spaces_before = 0, spaces_after = 0;  ///< characters of white space that the token's text begins and ends with
};

using Encoding = std::vector<EncodedToken>;

}  // namespace attn
