#include "app/cli/output_file.hpp"

namespace attn::app {

void add_output_option(CliCommand command, std::filesystem::path& out, const std::string& extension) {
    command.option("--out", out, "File to write, ending in " + extension)
        .shown_as("FILE" + extension)
        .required()
        .check([extension](const std::string& name) {
            return std::filesystem::path(name).extension() == extension ? "" : "'" + name + "' does not end in " + extension;
        });
}

}  // namespace attn::app
