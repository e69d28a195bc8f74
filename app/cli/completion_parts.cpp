#include "app/cli/completion_parts.hpp"

#include <algorithm>

namespace attn::app {
namespace {

void place_below(const PlacedCommand& above, std::vector<PlacedCommand>& all) {
    all.push_back(above);
    for (const CommandText& command : above.command->commands)
        place_below({above.place.empty() ? command.name : above.place + " " + command.name, &command}, all);
}

}  // namespace

std::vector<PlacedCommand> placed_commands(const CommandText& program) {
    std::vector<PlacedCommand> all;
    place_below({"", &program}, all);
    return all;
}

FileWanted file_wanted(const ArgumentText& argument) {
    const std::string& value = argument.positional ? argument.names.front() : argument.value;
    if (value.find("FILE") != std::string::npos) return FileWanted::File;
    if (value.find("DIR") != std::string::npos || value.find("FOLDER") != std::string::npos) return FileWanted::Folder;
    return FileWanted::None;
}

std::string in_quotes(const std::string& text, const std::string& apostrophe) {
    std::string quoted = "'";
    for (const char letter : text) quoted += letter == '\'' ? apostrophe : std::string(1, letter);
    return quoted + "'";
}

std::string short_help(const std::string& help) {
    std::size_t end = help.size();
    for (const char* after : {": ", "; ", ". "}) end = std::min(end, help.find(after));
    const std::string first = help.substr(0, end);
    return first.ends_with('.') ? first.substr(0, first.size() - 1) : first;
}

}  // namespace attn::app
