#pragma once
/// The command line: commands, their options, and validation of values. Only arguments.cpp includes the parser library, whose templates
/// take seconds to compile in every file that uses them.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/cli/command_text.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace attn::app {

inline constexpr int kExitOk = 0;
inline constexpr int kExitMismatch = 1;  ///< a check ran and failed
inline constexpr int kExitBadInput = 2;
inline constexpr int kExitOnSignal = 128;  ///< plus the number of the signal that ended the program, as in shells

/// Details of an option that the parser does not store but CommandText needs.
struct ArgumentNotes {
    std::string value;
    std::vector<std::string> choices;
    bool closed = false;
};
using NotesOfArguments = std::map<const CLI::Option*, ArgumentNotes>;

/// A newly added option, for specifying it further.
class Argument {
public:
    Argument(CLI::Option* option, ArgumentNotes& notes) : option_(option), notes_(&notes) {}

    /// The placeholder for the value in the help, such as "FILE.json".
    Argument& shown_as(const std::string& value);
    Argument& required();
    /// A list option takes one value per occurrence, so that it does not consume the arguments after it.
    Argument& one_at_a_time();
    Argument& between(std::int64_t least, std::int64_t most);
    Argument& one_of(const std::vector<std::string>& names);
    /// Values offered by shell completion; other values are accepted too.
    Argument& suggest(const std::vector<std::string>& names);
    /// Replaces "~", which a shell leaves in --out=~/file. Options whose type is a path are always treated so.
    Argument& is_path();
    Argument& existing_folder();
    /// `problem` returns what is wrong with a value, "" if it is valid.
    Argument& check(std::function<std::string(const std::string&)> problem);
    Argument& needs(const Argument& other);
    Argument& excludes(const Argument& other);

private:
    CLI::Option* option_;
    ArgumentNotes* notes_;
};

/// The program or one of its commands. A handle: copies refer to the same command.
class CliCommand {
public:
    CliCommand(CLI::App* app, NotesOfArguments& notes) : app_(app), notes_(&notes) {}

    /// `value` receives the parsed value and must outlive the parsing. A name without dashes is a positional argument. T is int, int64,
    /// uint64, float, double, std::string, std::filesystem::path, a vector of the last two, or an optional of the numbers.
    template <class T>
    Argument option(const std::string& name, T& value, const std::string& help);
    Argument flag(const std::string& name, bool& value, const std::string& help);
    /// Adds a subcommand. `help` is its line in the list of commands.
    CliCommand command(const std::string& name, const std::string& help);
    /// Requires one of the subcommands; this command does nothing by itself.
    void require_command();
    /// The text below the options in the help.
    void footer(const std::string& text);
    /// Sets the action, called once the options are parsed.
    void on_run(std::function<void()> run);
    /// A description of this command and its subcommands.
    CommandText text() const;

private:
    CLI::App* app_;
    NotesOfArguments* notes_;
};

/// The command line is invalid.
struct ArgumentError : std::runtime_error {
    ArgumentError(const std::string& problem, std::string of) : std::runtime_error(problem), command(std::move(of)) {}
    std::string command;  ///< whose help says more, such as "attnscope render"
};

class CommandLine {
public:
    CommandLine(const std::string& name, const std::string& version, const std::string& description);
    ~CommandLine();
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;

    CliCommand program();
    /// Sets a function called after parsing and before the command runs, with the name of the command, or "".
    void before_run(std::function<void(const std::string& command)> look);
    enum class Outcome { NoCommand, Ran, Printed };  ///< Printed: the help or the version was requested
    /// Parses the arguments and runs the command. Option values must not be empty. Throws ArgumentError, and whatever the command throws.
    Outcome parse(int argc, char** argv);

private:
    std::unique_ptr<CLI::App> app_;
    NotesOfArguments notes_;
};

}  // namespace attn::app
