#pragma once
/// --out: where a command writes.

#include <filesystem>
#include <string>

#include "app/cli/arguments.hpp"

namespace attn::app {

/// Adds the required option; a name that does not end in `extension` (such as ".png") is refused.
void add_output_option(CliCommand command, std::filesystem::path& out, const std::string& extension);

}  // namespace attn::app
