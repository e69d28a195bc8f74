#pragma once
/// What the address of the page asks for. Its names and values are those of the command line.

#include <string>
#include <string_view>
#include <vector>

#include "app/cli/view_options.hpp"
#include "app/cli/window.hpp"

namespace attn::app {

class Application;

/// The part of an address after "?" as arguments: "preset=copy&text=a+b" becomes {"--preset=copy", "--text=a b"}; a name without a value is
/// a flag. Escapes that are none stay as they are.
std::vector<std::string> arguments_of_link(std::string_view query);

struct PageLink {
    WindowStart start;
    ViewOptions view;
    std::string cell;  ///< "QUERY,KEY", from 0; "": as usual
    /// Whether it says where to look.
    bool looks() const;
};

/// Throws ArgumentError or Error for what does not exist.
PageLink read_link(std::string_view query);

/// Turns the view to where the link looks; waits for the numbers. To be called before the first frame. Throws Error for a stage, layer,
/// head or cell that does not exist.
void look_there(const PageLink& link, Application& application);

}  // namespace attn::app
