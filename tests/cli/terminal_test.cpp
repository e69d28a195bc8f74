/// What reaches a terminal: no text of a file or model makes it do anything.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

/// What attnscope prints to a terminal of its own.
std::string on_a_terminal(std::vector<std::string> arguments) {
    const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) return "";
    const std::string name = ::ptsname(terminal);
    arguments.insert(arguments.begin(), ATTNSCOPE_BINARY);
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        ::setsid();
        const int end = ::open(name.c_str(), O_RDWR);
        for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(end, stream);
        ::execv(ATTNSCOPE_BINARY, words.data());
        ::_exit(127);
    }
    std::string out;
    char bytes[4096];
    // Reading fails once the program has ended and its side is closed.
    for (ssize_t got = 0; (got = ::read(terminal, bytes, sizeof bytes)) > 0;) out.append(bytes, static_cast<std::size_t>(got));
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(terminal);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << out;
    return out;
}

const std::string kEscape = "\x1b", kC1 = "\xC2\x9B", kOverride = "\xE2\x80\xAE", kIsolate = "\xE2\x81\xA6";

void expect_harmless(const std::string& out) {
    for (const std::string& sign : {kEscape, kC1, kOverride, kIsolate, std::string("\x07"), std::string("\x7F")})
        EXPECT_EQ(out.find(sign), std::string::npos) << out;
}

/// A model of single bytes or characters that has learned to repeat `sign`.
std::string run_that_repeats(const ScratchFolder& folder, const std::string& sign, const char* tokenizer) {
    std::string text;
    while (text.size() < 1800) text += sign;
    std::vector<std::string> arguments = {
        "train", "--text-file", folder.file("text.txt", text), "--tokenizer", tokenizer, "--steps", "150", "--out", folder.path("run")};
    if (tokenizer == std::string("bpe")) arguments.insert(arguments.end(), {"--vocab", "256"});
    for (const char* set :
         {"task.length=12", "d_model=16", "d_ff=16", "num_layers=1", "batch_size=8", "evaluate_every=150", "schedule.rate=0.01"})
        arguments.insert(arguments.end(), {"--set", set});
    const Outcome outcome = attnscope(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return folder.path("run");
}

TEST(Terminal, BytesOfAModelThatTogetherAreAControlBecomeVisible) {
    for (const auto& [sign, shown] : {std::pair(kOverride, "\\u{202E}"), {kC1, "\\u{009B}"}}) {
        const ScratchFolder folder;
        const std::string run = run_that_repeats(folder, sign, "bpe");
        const std::vector<std::string> arguments = {"sample", "--model",       run, "--prompt", sign + sign, "--tokens",
                                                    "12",     "--temperature", "0"};
        const std::string out = on_a_terminal(arguments);
        expect_harmless(out);
        std::size_t count = 0;
        for (std::size_t at = 0; (at = out.find(shown, at)) != std::string::npos; ++at) ++count;
        EXPECT_GE(count, 5U) << "two of the prompt and those that were written: " << out;
        const Outcome piped = attnscope(arguments);
        EXPECT_THAT(piped.out, HasSubstr(sign + sign + sign)) << "what goes to a program stays as it is";
    }
}

TEST(Terminal, TextOfAPromptOrDocumentBecomesVisible) {
    const ScratchFolder folder;
    const std::string sign = "a" + kEscape + "[2J\x07\x7F" + kC1 + kIsolate + "\n\té";
    const std::string run = run_that_repeats(folder, sign, "character");
    const std::string out = on_a_terminal({"sample", "--model", run, "--prompt", sign, "--tokens", "30"});
    expect_harmless(out);
    EXPECT_THAT(out, HasSubstr("a\\x1B[2J\\x07\\x7F\\u{009B}\\u{2066}\r\n\té")) << "line breaks, tabs and letters stay";
}

/// JSON is printed to terminals, too, and can say the same without a control.
TEST(Terminal, JsonHasNoControls) {
    const ScratchFolder folder;
    const std::string sign = "a" + kEscape + "[2J\x07\x7F" + kC1 + kIsolate + "é";
    const std::string run = run_that_repeats(folder, sign, "character");
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"sample", "--model", run, "--prompt", sign, "--tokens", "20", "--json"},
          {"tokenize", "--run", run, "--text", sign, "--json"}}) {
        const Outcome outcome = attnscope(arguments);
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        expect_harmless(outcome.out);
        const json line = json::parse(outcome.out);
        EXPECT_THAT(outcome.out, HasSubstr("\\u009b"));
        EXPECT_THAT(outcome.out, HasSubstr("é"));
        EXPECT_EQ(line.value("prompt", sign), sign) << "the same value";
    }
}

}  // namespace
}  // namespace attn::test
