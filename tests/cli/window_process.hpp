#pragma once
/// attnscope with its window open, seen through the X server as a user sees it.

#include <sys/types.h>

#include <string>
#include <vector>

namespace attn::test {

/// True where windows can be opened and looked at: built with Xlib, and there is an X server.
bool can_see_windows();

struct SeenWindow {
    std::string title;       ///< "" when no window came up
    std::size_t colors = 0;  ///< different ones in what it shows
    std::string err;         ///< what the program said on stderr by then
};

/// Starts attnscope with these arguments in `folder`, waits until its window shows more than `least_colors`, looks at it and ends the
/// program. A program that ends by itself, or shows nothing within a minute, gives what was seen till then.
SeenWindow open_window(const std::vector<std::string>& arguments, const std::string& folder, std::size_t least_colors = 50);

}  // namespace attn::test
