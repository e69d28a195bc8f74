/// Checks the manual page and shell completions against --help, which is generated independently.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "tests/cli/command_lines.hpp"
#include "tests/cli/help_pages.hpp"
#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAreArray;

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

/// The completions that bash offers for the last of these words.
std::vector<std::string> completed(const ScratchFolder& place, const std::vector<std::string>& words) {
    std::string typed = "attnscope";
    for (const std::string& word : words) typed += " '" + word + "'";
    const std::string script =
        fmt::format(R"(source <(attnscope completion bash); COMP_WORDS=({}); COMP_CWORD={}; _attnscope; printf '%s\n' "${{COMPREPLY[@]}}")",
                    typed, words.size());
    const Outcome outcome = in_shell(script, place.path(""));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    std::vector<std::string> offers = lines_of(outcome.out);
    offers.erase(std::remove(offers.begin(), offers.end(), ""), offers.end());
    return offers;
}

TEST(Completion, OffersWhatTheHelpLists) {
    const ScratchFolder place;
    for (const HelpPage& page : help_pages()) {
        std::vector<std::string> words = page.command;
        words.emplace_back("-");
        EXPECT_THAT(completed(place, words), UnorderedElementsAreArray(page.options)) << joined(words);
        words.back() = "";
        const std::vector<std::string> offers = completed(place, words);
        for (const std::string& command : page.commands) EXPECT_THAT(offers, Contains(command)) << joined(words);
    }
}

TEST(Completion, FollowsWhatIsTyped) {
    const ScratchFolder place;
    place.file("notes.txt", "");
    std::filesystem::create_directory(place.path("notes"));
    EXPECT_THAT(completed(place, {"rend"}), ElementsAre("render"));
    EXPECT_THAT(completed(place, {"render", "--view", "he"}), ElementsAre("heads"));
    EXPECT_THAT(completed(place, {"render", "--view", "=", "he"}), ElementsAre("heads"));
    EXPECT_THAT(completed(place, {"completion", "fi"}), ElementsAre("fish"));
    EXPECT_THAT(completed(place, {"train", "--task", "rep"}), ElementsAre("repeat"));
    EXPECT_THAT(completed(place, {"--preset", "gpt"}), ElementsAre("gpt-tiny"));
    EXPECT_THAT(completed(place, {"no"}), UnorderedElementsAreArray({"notes", "notes.txt"}));
    EXPECT_THAT(completed(place, {"--text-file", "no"}), UnorderedElementsAreArray({"notes", "notes.txt"}));
    EXPECT_THAT(completed(place, {"train", "--out", "no"}), ElementsAre("notes")) << "a folder is wanted";
    EXPECT_THAT(completed(place, {"model", "no"}), UnorderedElementsAreArray({"notes", "notes.txt"})) << "a folder or a file";
    // An option's value is not taken for a command, whatever it is.
    EXPECT_THAT(completed(place, {"--text", "render", "--vi"}), IsEmpty());
    EXPECT_THAT(completed(place, {"render", "--stage", "--vi"}), IsEmpty());
    EXPECT_THAT(completed(place, {"render", "--vi"}), ElementsAre("--view"));
    EXPECT_THAT(completed(place, {"no-such-command", "--vi"}), IsEmpty());
}

/// The lines of a script after the one that starts with `begin`, up to the next one that starts with `end`.
std::string part(const std::string& script, const std::string& begin, const std::string& end) {
    const std::size_t from = script.find(begin);
    if (from == std::string::npos) return "";
    return script.substr(from, script.find(end, from + begin.size()) - from);
}

TEST(Completion, OfZshHasAFunctionForEveryCommandWithItsOptions) {
    const std::string script = attnscope({"completion", "zsh"}).out;
    EXPECT_THAT(script, testing::StartsWith("#compdef attnscope\n"));
    for (const HelpPage& page : help_pages()) {
        std::string name = "_attnscope";
        for (const std::string& word : page.command) name += "_" + word;
        const std::string function = part(script, "\n" + name + "() {\n", "\n}\n");
        for (const std::string& option : page.options) EXPECT_THAT(function, HasSubstr(option + "[")) << name;
        for (const std::string& command : page.commands) EXPECT_THAT(function, HasSubstr("            '" + command + ":")) << name;
    }
    EXPECT_EQ(part(script, "\n_attnscope_no_such_command() {\n", "\n}\n"), "") << "the negative control";
}

TEST(Completion, OfFishHasALineForEveryOption) {
    const std::vector<std::string> lines = lines_of(attnscope({"completion", "fish"}).out);
    const auto has = [&](const std::string& begin) {
        return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(begin); });
    };
    for (const HelpPage& page : help_pages()) {
        const std::string head = "complete -c attnscope -n '__attnscope_at \\'" + joined(page.command) + "\\''";
        for (const std::string& option : page.options) {
            const std::string at = option.starts_with("--") ? " -l " + option.substr(2) + " " : " -s " + option.substr(1) + " ";
            EXPECT_TRUE(std::any_of(lines.begin(), lines.end(),
                                    [&](const std::string& line) { return line.starts_with(head) && line.find(at) != std::string::npos; }))
                << head << at;
        }
        for (const std::string& command : page.commands) EXPECT_TRUE(has(head + " -a " + command + " ")) << head << command;
    }
    EXPECT_FALSE(has("complete -c attnscope -n '__attnscope_at \\'no-such-command\\''")) << "the negative control";
}

TEST(Completion, RefusesAnUnknownShell) {
    const Outcome outcome = attnscope({"completion", "csh"});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("csh"));
}

/// "\\-\\-preset" -> "--preset"
std::string without_roff(const std::string& text) {
    return std::regex_replace(std::regex_replace(text, std::regex(R"(\\f[BIR])"), ""), std::regex(R"(\\-)"), "-");
}

TEST(ManPage, HasEveryCommandAndOption) {
    const std::string page = attnscope({"man"}).out;
    EXPECT_THAT(page, testing::StartsWith(".TH ATTNSCOPE 1"));
    EXPECT_THAT(without_roff(page), HasSubstr("\nattnscope - see every number of a transformer\\(aqs attention\n"));
    const std::string plain = without_roff(page) + ".SS ";
    for (const HelpPage& help : help_pages()) {
        const std::string head = help.command.empty() ? "\n.SH OPTIONS\n" : "\n.SS attnscope " + joined(help.command) + "\n";
        const std::string section = part(plain, head, "\n.S");
        EXPECT_NE(section, "") << head;
        for (const std::string& option : help.options) {
            const bool once = !help.command.empty() && (option == "-h" || option == "--help");
            if (!once) {
                EXPECT_TRUE(std::regex_search(section, std::regex("\\.TP\n(.*, )?" + option + "[ ,\n]"))) << head << option;
            }
        }
    }
    EXPECT_EQ(part(plain, "\n.SS attnscope no-such-command\n", "\n.S"), "") << "the negative control";
}

TEST(ManPage, HasNoLineThatRoffWouldTakeForARequest) {
    for (const std::string& line : lines_of(attnscope({"man"}).out)) {
        if (line.starts_with("'")) ADD_FAILURE() << line;
        if (!line.starts_with(".")) continue;
        EXPECT_TRUE(std::regex_search(line, std::regex(R"(^\.(TH|SH|SS|TP|PP|RS|RE|nf|fi|nh|ad|br)( |$))"))) << line;
    }
}

}  // namespace
}  // namespace attn::test
