#pragma once
/// Names of the examples and lessons inside the program, without reading the models that they use.

#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// The "name" of every embedded file in `folder` ("presets/"), by "order" and then by name. Throws FileError if a file has no name.
std::vector<std::string> embedded_names(std::string_view folder);

}  // namespace attn::app
