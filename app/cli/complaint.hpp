#pragma once
/// Prints an error as one line to stderr.

#include <string_view>

namespace attn::app {

/// Sets the name that messages begin with, a literal; "attnscope" otherwise.
void complain_as(const char* program);

/// Prints "attnscope: MESSAGE". Messages may quote user input and file contents; the output is escaped and shortened to one line of limited
/// length.
void complain(std::string_view message);

/// The same for a fixed message. Does not allocate memory.
void complain_plainly(std::string_view message);

}  // namespace attn::app
