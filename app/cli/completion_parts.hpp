#pragma once
/// Helpers shared by the completion generators.

#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/command_text.hpp"

namespace attn::app {

/// A command and its path: "" for the program itself, "trace", "bench train".
struct PlacedCommand {
    std::string place;
    const CommandText* command = nullptr;
};

/// The program and all its commands. The pointers refer into `program`.
std::vector<PlacedCommand> placed_commands(const CommandText& program);

enum class FileWanted : std::uint8_t { None, File, Folder };
/// Derived from the value's placeholder: FILE.json, DIR, DIR|FILE.gguf.
FileWanted file_wanted(const ArgumentText& argument);

/// Single-quotes a text. Shells differ only in the replacement for an apostrophe.
std::string in_quotes(const std::string& text, const std::string& apostrophe);

/// The first statement of the help, without lists and conditions, to fit a menu line.
std::string short_help(const std::string& help);

}  // namespace attn::app
