#pragma once
/// What the person looks at of a text's way to its pieces.

#include <cstdint>
#include <memory>
#include <optional>

namespace attn::app {

struct TokenPath;

struct TokenPathState {
    bool table = false;                     ///< the pieces as a list instead
    std::optional<std::size_t> word;        ///< chosen by click; none: that of the chosen token
    std::optional<std::size_t> step;        ///< none: the last
    std::shared_ptr<const TokenPath> last;  ///< shown last, to be seen until there is newer
};

}  // namespace attn::app
