#pragma once
/// --out: the file a command writes.

#include <filesystem>
#include <string>

#include "app/cli/arguments.hpp"

namespace attn::app {

/// Adds the required option --out; names without `extension` (such as ".png") are rejected.
void add_output_option(CliCommand command, std::filesystem::path& out, const std::string& extension);

}  // namespace attn::app
