#include "app/cli/output_file.hpp"

#include <CLI/CLI.hpp>

namespace attn::app {

void add_output_option(CLI::App& command, std::filesystem::path& out, const std::string& extension) {
    command.add_option("--out", out, "File to write, ending in " + extension)
        ->type_name("FILE" + extension)
        ->required()
        ->check([extension](const std::string& name) {
            return std::filesystem::path(name).extension() == extension ? "" : "'" + name + "' does not end in " + extension;
        });
}

}  // namespace attn::app
