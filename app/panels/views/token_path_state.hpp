#pragma once
/// What the person looks at of a text's way to its pieces.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace attn::app {

struct OtherTokens;
struct TokenPath;

struct TokenPathState {
    bool table = false;                     ///< the pieces as a list instead
    std::optional<std::size_t> word;        ///< chosen by click; none: that of the chosen token
    std::optional<std::size_t> step;        ///< none: the last
    std::shared_ptr<const TokenPath> last;  ///< shown last, to be seen until there is newer
    std::string other;                      ///< a tokenizer's file, or a model's, that cuts the text beside; "" for none
    std::uint64_t opening = 0;              ///< grows with every one that is chosen
    bool of_other = false;                  ///< whose stages and steps are seen
    std::shared_ptr<const OtherTokens> last_other;
};

}  // namespace attn::app
