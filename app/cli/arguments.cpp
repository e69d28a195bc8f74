#include "app/cli/arguments.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "engine/io/home_path.hpp"

namespace attn::app {
namespace {

/// An empty value is refused: it is usually an unset shell variable, and must not be taken for a missing option.
void refuse_empty_values(CLI::App& command) {
    for (CLI::Option* option : command.get_options())
        if (option->get_items_expected_max() > 0)
            option->check([](const std::string& value) { return value.empty() ? "the value is empty" : ""; });
    for (CLI::App* subcommand : command.get_subcommands(nullptr)) refuse_empty_values(*subcommand);
}

/// The subcommand that was given, in full depth.
const CLI::App& deepest(const CLI::App& app) {
    const CLI::App* command = &app;
    while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
    return *command;
}

/// Such as "attnscope bench model".
std::string name_of(const CLI::App& command) {
    return (command.get_parent() == nullptr ? "" : name_of(*command.get_parent()) + " ") + command.get_name();
}

std::string names_of_commands(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; })) names.push_back(one->get_name());
    return fmt::format("{} {}", command.get_name(), fmt::join(names, " | "));
}

/// Sorted by name, because the parser orders them by their addresses.
std::vector<std::string> sorted_names(const std::set<CLI::Option*>& options) {
    std::vector<std::string> names;
    for (const CLI::Option* option : options) names.push_back(option->get_name());
    std::sort(names.begin(), names.end());
    return names;
}

ArgumentText text_of(const CLI::Option& option, const ArgumentNotes& notes) {
    ArgumentText text;
    text.help = option.get_description();
    text.choices = notes.choices;
    text.closed = notes.closed;
    text.positional = option.get_positional();
    text.required = option.get_required();
    text.repeated = option.get_expected_max() > 1;
    text.needs = sorted_names(option.get_needs());
    text.excludes = sorted_names(option.get_excludes());
    const bool takes_value = option.get_items_expected_max() > 0;
    if (text.positional) {
        text.names = {notes.value.empty() ? option.get_name() : notes.value};
        return text;
    }
    for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
    if (takes_value) text.value = notes.value.empty() ? "VALUE" : notes.value;
    return text;
}

CommandText text_of(const CLI::App& command, const NotesOfArguments& notes) {
    CommandText text;
    text.name = command.get_name();
    text.help = command.get_description();
    text.footer = command.get_footer();
    for (const CLI::Option* option : command.get_options()) {
        const auto noted = notes.find(option);
        text.arguments.push_back(text_of(*option, noted == notes.end() ? ArgumentNotes() : noted->second));
    }
    for (const CLI::App* below : command.get_subcommands({})) text.commands.push_back(text_of(*below, notes));
    return text;
}

}  // namespace

Argument& Argument::shown_as(const std::string& value) {
    option_->type_name(value);
    notes_->value = value;
    return *this;
}

Argument& Argument::required() {
    option_->required();
    return *this;
}

Argument& Argument::one_at_a_time() {
    option_->allow_extra_args(false);
    return *this;
}

Argument& Argument::between(std::int64_t least, std::int64_t most) {
    return check([least, most](const std::string& text) -> std::string {
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error == std::errc{} && end == text.data() + text.size() && number >= least && number <= most) return "";
        return fmt::format("expected a whole number from {} to {}, found {}", least, most, text);
    });
}

Argument& Argument::one_of(const std::vector<std::string>& names) {
    option_->check(CLI::IsMember(names));
    notes_->closed = true;
    return suggest(names);
}

Argument& Argument::suggest(const std::vector<std::string>& names) {
    notes_->choices = names;
    return *this;
}

Argument& Argument::is_path() {
    option_->transform(without_tilde);
    return *this;
}

Argument& Argument::existing_folder() {
    option_->check(CLI::ExistingDirectory);
    return *this;
}

Argument& Argument::check(std::function<std::string(const std::string&)> problem) {
    option_->check(std::move(problem));
    return *this;
}

Argument& Argument::needs(const Argument& other) {
    option_->needs(other.option_);
    return *this;
}

Argument& Argument::excludes(const Argument& other) {
    option_->excludes(other.option_);
    return *this;
}

template <class T>
Argument CliCommand::option(const std::string& name, T& value, const std::string& help) {
    CLI::Option* option = app_->add_option(name, value, help);
    Argument added(option, (*notes_)[option]);
    if constexpr (std::is_same_v<T, std::filesystem::path> || std::is_same_v<T, std::vector<std::filesystem::path>>) return added.is_path();
    else return added;
}

template Argument CliCommand::option(const std::string&, int&, const std::string&);
template Argument CliCommand::option(const std::string&, std::int64_t&, const std::string&);
template Argument CliCommand::option(const std::string&, std::uint64_t&, const std::string&);
template Argument CliCommand::option(const std::string&, float&, const std::string&);
template Argument CliCommand::option(const std::string&, double&, const std::string&);
template Argument CliCommand::option(const std::string&, std::string&, const std::string&);
template Argument CliCommand::option(const std::string&, std::filesystem::path&, const std::string&);
template Argument CliCommand::option(const std::string&, std::vector<std::string>&, const std::string&);
template Argument CliCommand::option(const std::string&, std::vector<std::filesystem::path>&, const std::string&);
template Argument CliCommand::option(const std::string&, std::optional<std::int64_t>&, const std::string&);
template Argument CliCommand::option(const std::string&, std::optional<std::uint64_t>&, const std::string&);

Argument CliCommand::flag(const std::string& name, bool& value, const std::string& help) {
    CLI::Option* option = app_->add_flag(name, value, help);
    return Argument(option, (*notes_)[option]);
}

CliCommand CliCommand::command(const std::string& name, const std::string& help) {
    return CliCommand(app_->add_subcommand(name, help), *notes_);
}

void CliCommand::require_command() { app_->require_subcommand(1); }

void CliCommand::footer(const std::string& text) { app_->footer(text); }

void CliCommand::on_run(std::function<void()> run) { app_->callback(std::move(run)); }

CommandText CliCommand::text() const { return text_of(*app_, *notes_); }

CommandLine::CommandLine(const std::string& name, const std::string& version, const std::string& description)
    : app_(std::make_unique<CLI::App>(description, name)) {
    app_->set_version_flag("--version", version);
    app_->require_subcommand(0, 1);
    app_->get_formatter()->column_width(34);
}

CommandLine::~CommandLine() = default;

CliCommand CommandLine::program() { return CliCommand(app_.get(), notes_); }

void CommandLine::before_run(std::function<void(const std::string&)> look) {
    app_->parse_complete_callback([this, look = std::move(look)] {
        const auto commands = app_->get_subcommands();
        look(commands.empty() ? "" : commands.front()->get_name());
    });
}

CommandLine::Outcome CommandLine::parse(int argc, char** argv) {
    refuse_empty_values(*app_);
    try {
        app_->parse(argc, argv);
    } catch (const CLI::Success& request) {
        app_->exit(request);
        return Outcome::Printed;
    } catch (const CLI::ExtrasError&) {
        const std::string first = app_->remaining(true).front();
        throw ArgumentError(first.starts_with('-')
                                ? "there is no option " + first
                                : "an argument too many: '" + first +
                                      "' (a text of several words needs quotes, and an option that may be repeated its name each time)",
                            name_of(deepest(*app_)));
    } catch (const CLI::ParseError& error) {
        const CLI::App& command = deepest(*app_);
        const bool incomplete = command.get_require_subcommand_min() > 0 && command.get_subcommands().empty();
        throw ArgumentError(incomplete ? "say which: " + names_of_commands(command) : error.what(), name_of(command));
    }
    return app_->get_subcommands().empty() ? Outcome::NoCommand : Outcome::Ran;
}

}  // namespace attn::app
