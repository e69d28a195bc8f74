#pragma once
/// Text from files and models on its way to a terminal or to a line of JSON.

#include <string>
#include <string_view>

#include "engine/io/json.hpp"

namespace attn::app {

/// Text that is printed piece by piece. Control characters other than line breaks and tabs, C1 controls and those that change the direction
/// of writing become visible, as with escaped(): a terminal would obey them. A character may come in several pieces.
class TerminalText {
public:
    /// What can be printed now; the rest of an incomplete character waits for the next piece.
    std::string add(std::string_view piece);
    /// What is left at the end.
    std::string end();

private:
    std::string waiting_;  ///< the beginning of a character
};

/// One line of JSON. It is printed to terminals as well, so the same characters are written as \uXXXX, which is the same value.
std::string json_line(const Json& json);

}  // namespace attn::app
