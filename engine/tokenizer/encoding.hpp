#pragma once
/// A text as ids, each with its position in the text.

#include <cstdint>
#include <string_view>
#include <vector>

namespace attn {

/// One token of an encoded text.
struct EncodedToken {
    std::int32_t id = 0;
    std::uint32_t begin = 0, end = 0;  ///< byte range in the typed text; 0, 0 for a token added by the template
    std::int32_t type = 0;             ///< segment: 0 for the first text of a pair, 1 for the second, unless the template differs
    bool from_template = false;
    bool of_second = false;                             ///< of the second text of a pair
    std::uint32_t spaces_before = 0, spaces_after = 0;  ///< leading and trailing characters of white space in the token's text
};

using Encoding = std::vector<EncodedToken>;

}  // namespace attn
