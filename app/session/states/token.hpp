#pragma once
/// A token of a text, as it is shown.

#include <cstdint>
#include <string>

namespace attn::app {

struct Token {
    std::string text;  ///< as typed, or as a published model has the piece: perhaps a part of a character; shown escaped by widgets
    std::int32_t id = 0;
    bool padding = false;
    bool unknown = false;
};

}  // namespace attn::app
