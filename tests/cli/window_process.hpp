#pragma once
/// attnscope with its window open, seen through the X server as a user sees it.

#include <memory>
#include <string>
#include <vector>

namespace attn::test {

struct SeenWindow {
    std::string title;       ///< "" when no window came up
    std::size_t colors = 0;  ///< different ones in what it shows
    std::string err;         ///< what the program said by then
};

/// A connection to the X server. One for the whole test: some servers start anew when the last connection ends.
class WindowViewer {
public:
    WindowViewer();
    ~WindowViewer();
    /// False where there is no X server, and in a build without Xlib.
    bool can_see() const;
    /// Starts attnscope with these arguments in `folder`, waits until its window shows more than `least_colors`, looks at it and ends the
    /// program. A program that ends by itself, or shows nothing within a minute, gives what was seen till then.
    SeenWindow open(const std::vector<std::string>& arguments, const std::string& folder, std::size_t least_colors = 50) const;

private:
    struct Screen;
    std::unique_ptr<Screen> screen_;
};

}  // namespace attn::test
