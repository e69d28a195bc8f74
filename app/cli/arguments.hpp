#pragma once
/// The command line: commands, their options, and the checks of what is typed. Only arguments.cpp knows the library that parses it,
/// whose templates take seconds to compile in every file that includes them.

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

/// What the parser does not keep of an option and CommandText tells.
struct ArgumentNotes {
    std::string value;
    std::vector<std::string> choices;
    bool closed = false;
};
using NotesOfArguments = std::map<const CLI::Option*, ArgumentNotes>;

/// An option that was just added, to say more about it.
class Argument {
public:
    Argument(CLI::Option* option, ArgumentNotes& notes) : option_(option), notes_(&notes) {}

    /// What the help shows in place of the value: "FILE.json".
    Argument& shown_as(const std::string& value);
    Argument& required();
    /// A list takes one value each time the option is given, so that what follows it is not taken too.
    Argument& one_at_a_time();
    Argument& between(std::int64_t least, std::int64_t most);
    Argument& one_of(const std::vector<std::string>& names);
    /// Values that a shell offers. Whether another one will do is for others to say.
    Argument& suggest(const std::vector<std::string>& names);
    Argument& existing_folder();
    /// `problem` says what is wrong with a value, "" for nothing.
    Argument& check(std::function<std::string(const std::string&)> problem);
    Argument& needs(const Argument& other);
    Argument& excludes(const Argument& other);

private:
    CLI::Option* option_;
    ArgumentNotes* notes_;
};

/// The program or one of its commands. A handle: copies mean the same command.
class CliCommand {
public:
    CliCommand(CLI::App* app, NotesOfArguments& notes) : app_(app), notes_(&notes) {}

    /// `value` is where the parsed value goes; it must outlive the parsing. A name without dashes is a positional argument. T is int,
    /// int64, uint64, float, double, std::string, std::filesystem::path, a vector of the last two or an optional of the numbers.
    template <class T>
    Argument option(const std::string& name, T& value, const std::string& help);
    Argument flag(const std::string& name, bool& value, const std::string& help);
    /// A command of this one. `help` is its line in the list of commands.
    CliCommand command(const std::string& name, const std::string& help);
    /// This command does nothing by itself: one of its own commands has to follow.
    void require_command();
    /// What stands below the options in the help.
    void footer(const std::string& text);
    /// What the command does, once its options are parsed.
    void on_run(std::function<void()> run);
    /// What is known of it and of the commands below it.
    CommandText text() const;

private:
    CLI::App* app_;
    NotesOfArguments* notes_;
};

/// Something was mistyped.
struct ArgumentError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class CommandLine {
public:
    CommandLine(const std::string& name, const std::string& version, const std::string& description);
    ~CommandLine();
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;

    CliCommand program();
    /// Called between parsing and running, with the name of the command that was given, or "".
    void before_run(std::function<void(const std::string& command)> look);
    enum class Outcome { NoCommand, Ran, Printed };  ///< Printed: the help or the version was asked for
    /// Parses and runs the command. An option's value must not be empty. Throws ArgumentError, and whatever the command throws.
    Outcome parse(int argc, char** argv);

private:
    std::unique_ptr<CLI::App> app_;
    NotesOfArguments notes_;
};

}  // namespace attn::app
