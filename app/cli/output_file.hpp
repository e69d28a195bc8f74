#pragma once
/// --out: where a command writes.

#include <filesystem>
#include <string>

namespace CLI {
class App;
}

namespace attn::app {

/// Adds the required option; a name that does not end in `extension` (such as ".png") is refused.
void add_output_option(CLI::App& command, std::filesystem::path& out, const std::string& extension);

}  // namespace attn::app
