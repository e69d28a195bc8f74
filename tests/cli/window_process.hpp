#pragma once
/// Runs attnscope with its window and captures the window through the X server.

#include <memory>
#include <string>
#include <vector>

namespace attn::test {

struct SeenWindow {
    std::string title;       ///< "" if no window appeared
    std::size_t colors = 0;  ///< number of different colours in it
    std::string err;         ///< stderr up to then
};

/// A connection to the X server. One for the whole test, because some servers restart when the last connection ends.
class WindowViewer {
public:
    WindowViewer();
    ~WindowViewer();
    /// False without an X server, and in builds without Xlib.
    bool can_see() const;
    /// Runs attnscope with these arguments in `folder`, waits until its window shows more than `least_colors` colours, captures it and ends
    /// the program. If the program ends by itself, or a minute passes, returns what was seen so far.
    SeenWindow open(const std::vector<std::string>& arguments, const std::string& folder, std::size_t least_colors = 50) const;

private:
    struct Screen;
    std::unique_ptr<Screen> screen_;
};

}  // namespace attn::test
