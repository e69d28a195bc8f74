#pragma once
/// A token of a text, as displayed.

#include <cstdint>
#include <string>

namespace attn::app {

struct Token {
    std::string text;  ///< as typed, or the model's piece, possibly part of a character; widgets escape it
    std::int32_t id = 0;
    bool padding = false;
    bool unknown = false;
};

}  // namespace attn::app
