#pragma once
/// A token of a text, as displayed.

#include <cstdint>
#include <string>

namespace attn::app {

struct Token {
    std::string text;  ///< as typed, as the model knows it, or the model's piece, possibly part of a character; widgets escape it
    std::int32_t id = 0;
    bool padding = false;
    bool unknown = false;
    std::int32_t place = 0;  ///< of a word that is new to the model, from 1; 0: the model knows the token
    std::string typed{};     ///< as typed, where the model reads it as a word that is spelled otherwise
};

}  // namespace attn::app
