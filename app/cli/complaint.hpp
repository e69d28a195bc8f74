#pragma once
/// What went wrong, in one line on stderr.

#include <string_view>

namespace attn::app {

/// "attnscope: MESSAGE". Messages may quote what was typed or read; whatever that was, it stays one line that fits on a screen.
void complain(std::string_view message);

/// The same for a message of our own. Allocates no memory.
void complain_plainly(std::string_view message);

}  // namespace attn::app
