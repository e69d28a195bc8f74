#pragma once
/// What the completions of all shells are made of.

#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/command_text.hpp"

namespace attn::app {

/// A command and where it stands: "" for the program itself, "trace", "bench train".
struct PlacedCommand {
    std::string place;
    const CommandText* command = nullptr;
};

/// The program and every command below it. They belong to `program`.
std::vector<PlacedCommand> placed_commands(const CommandText& program);

enum class FileWanted : std::uint8_t { None, File, Folder };
/// By the word that stands for the value: FILE.json, DIR, DIR|FILE.gguf.
FileWanted file_wanted(const ArgumentText& argument);

/// In the same quotes in all shells, which differ only in what an apostrophe becomes.
std::string in_quotes(const std::string& text, const std::string& apostrophe);

/// The help's first statement: lists and conditions after it are too long for a line in a menu.
std::string short_help(const std::string& help);

}  // namespace attn::app
