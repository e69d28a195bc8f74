#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/help_pages.hpp"
#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using testing::HasSubstr;

TEST(Help, NamesEveryCommandAndOption) {
    const Outcome outcome = attnscope({"--help"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    for (const char* word : {"--preset", "--text", "--text-file", "--version", "trace", "export", "snippet", "render", "doctor", "train",
                             "sample", "lesson", "model", "tokenize", "completion", "man", "causal-attention"})
        EXPECT_THAT(outcome.out, HasSubstr(word));
}

TEST(Help, IsThereForEveryCommand) {
    for (const char* command :
         {"trace", "export", "snippet", "render", "doctor", "train", "sample", "lesson", "model", "tokenize", "completion", "man"}) {
        const Outcome outcome = attnscope({command, "--help"});
        EXPECT_EQ(outcome.exit_code, 0) << command;
        EXPECT_EQ(outcome.err, "");
        EXPECT_GT(outcome.out.size(), 100U);
    }
}

TEST(Help, OfTheProgramForDevelopersListsItsCommands) {
    std::vector<std::string> commands;
    for (const HelpPage& page : dev_help_pages()) {
        std::string command;
        for (const std::string& word : page.command) command += (command.empty() ? "" : " ") + word;
        commands.push_back(command);
        EXPECT_THAT(page.text, HasSubstr("Usage: attnscope-dev"));
    }
    EXPECT_THAT(commands, testing::UnorderedElementsAre("", "check", "bench", "bench train", "bench attention", "bench gemm", "bench model",
                                                        "bench peak"));
}

TEST(Help, NamesTheExampleThatIsUsedOtherwise) {
    for (const char* command : {"trace", "export", "snippet", "render", "doctor"})
        EXPECT_THAT(attnscope({command, "--help"}).out, HasSubstr("(below); causal-attention by default\n")) << command;
    EXPECT_THAT(attnscope({"--help"}).out, testing::Not(HasSubstr("by default\n"))) << "the window opens what was open last";
    // It is the one that is used.
    const ScratchFolder folder;
    const std::string plain = folder.path("plain.csv"), named = folder.path("named.csv"), other = folder.path("other.csv");
    const auto write = [](const std::string& out, std::vector<std::string> options) {
        std::vector<std::string> command{"export", "--stage", "weights", "--out", out};
        command.insert(command.end(), options.begin(), options.end());
        EXPECT_EQ(attnscope(command).exit_code, 0);
        return read_bytes(out);
    };
    const std::string numbers = write(plain, {});
    EXPECT_EQ(write(named, {"--preset", "causal-attention"}), numbers);
    EXPECT_NE(write(other, {"--preset", "self-attention"}), numbers);
}

TEST(Help, ListsBothNamesOfAnOptionOnOneLine) { EXPECT_THAT(attnscope({"sample", "--help"}).out, HasSubstr("\n  --prompt,--text TEXT ")); }

TEST(Help, VersionIsOneLine) {
    const Outcome outcome = attnscope({"--version"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, testing::MatchesRegex("attnscope [0-9]+\\.[0-9]+\\.[0-9]+\n"));
    const Outcome dev = attnscope_dev({"--version"});
    EXPECT_EQ(dev.exit_code, 0);
    EXPECT_EQ(dev.out, std::string(outcome.out).insert(std::string("attnscope").size(), "-dev"));
}

}  // namespace
}  // namespace attn::test
