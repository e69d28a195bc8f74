#pragma once
/// The keyboard shortcuts as a list, for the help sheet.

#include <span>

namespace attn::app {

struct Shortcut {
    const char* keys;
    const char* what;
};

std::span<const Shortcut> shortcuts();

}  // namespace attn::app
