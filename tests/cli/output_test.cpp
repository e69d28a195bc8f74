/// Output that cannot be written is an error; a reader that closes the pipe early is not.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using Arguments = std::vector<std::string>;

/// Whether attnscope-dev has this command, rather than attnscope.
bool is_for_developers(const Arguments& arguments) { return arguments[0] == "check" || arguments[0] == "bench"; }

/// Runs a shell line in which "$@" stands for the command's program and its arguments.
Outcome through_shell(const std::string& line, const Arguments& arguments) {
    const char* program = is_for_developers(arguments) ? ATTNSCOPE_DEV_BINARY : ATTNSCOPE_BINARY;
    Arguments words{"/bin/bash", "-o", "pipefail", "-c", line, "bash", program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run_program(words);
}

std::string shown(const Arguments& arguments) {
    std::string line = is_for_developers(arguments) ? "attnscope-dev" : "attnscope";
    for (const std::string& argument : arguments) line += " " + argument;
    return line;
}

/// Files, and commands that print something about them.
class Output : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        shared_folder = std::make_unique<ScratchFolder>();
        ASSERT_EQ(attnscope({"train", "--task", "copy", "--steps", "2", "--set", "batch_size=2", "--out", run()}).exit_code, 0);
        ASSERT_EQ(attnscope({"trace", "--bug", "no_scale", "--out", trace()}).exit_code, 0);
    }
    static void TearDownTestSuite() { shared_folder.reset(); }
    static std::string run() { return shared_folder->path("run"); }
    static std::string trace() { return shared_folder->path("trace.safetensors"); }

    static std::vector<Arguments> commands() {
        const std::string cases = ATTN_TEST_DATA "/golden/";
        return {{"--help"},
                {"--version"},
                {"train", "--help"},
                {"lesson", "--list"},
                {"check", cases + "sdpa_none.safetensors"},
                {"check", cases + "sdpa_none.safetensors", cases + "sdpa_causal.safetensors"},
                {"doctor", trace()},
                {"doctor", "--json", trace(), trace()},
                {"doctor", "--leak", "1", "--preset", "gpt-tiny"},
                {"sample", "--model", run(), "--prompt", "ab>"},
                {"sample", "--model", run(), "--prompt", "ab>", "--json"},
                {"snippet", "--stage", "weights"},
                {"trace", "--out", shared_folder->path("t.safetensors")},
                {"export", "--stage", "weights", "--out", shared_folder->path("w.csv")},
                {"train", "--task", "copy", "--steps", "2", "--set", "batch_size=2"},
                {"train", "--task", "copy", "--steps", "2", "--set", "batch_size=2", "--json"},
                {"bench", "attention", "--T", "16", "--steps", "1", "--threads", "1", "--json"}};
    }

    static inline std::unique_ptr<ScratchFolder> shared_folder;
};

TEST_F(Output, AFullDiskIsAnError) {
    for (const Arguments& command : commands()) {
        SCOPED_TRACE(shown(command));
        const Outcome outcome = through_shell("\"$@\" > /dev/full", command);
        EXPECT_EQ(outcome.exit_code, 2);
        // A run without --out whose output is JSON says here, at both ends, that nothing of it is kept.
        const bool tells = command[0] == "train" && command.back() == "--json";
        const std::string& said = outcome.err;
        EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), tells ? 3 : 1) << said;
        const std::string program = is_for_developers(command) ? "attnscope-dev: " : "attnscope: ";
        const std::size_t place = said.find(program + "the standard output cannot be written");
        EXPECT_EQ(place, tells ? said.rfind(program) : 0U) << said;
    }
}

TEST_F(Output, SoIsAnOutputThatIsClosed) {
    for (const Arguments& command : commands()) {
        SCOPED_TRACE(shown(command));
        EXPECT_EQ(through_shell("\"$@\" >&-", command).exit_code, 2);
    }
    const std::string file = shared_folder->path("whole.safetensors");
    through_shell("\"$@\" >&-", {"trace", "--out", file});
    EXPECT_EQ(attnscope({"doctor", file}).exit_code, 0) << "what is printed must not get into a file that is written";
}

TEST_F(Output, NothingIsWrongWithoutOne) {
    for (const Arguments& command : commands()) {
        SCOPED_TRACE(shown(command));
        const Outcome outcome = through_shell("\"$@\" > /dev/null", command);
        EXPECT_EQ(outcome.exit_code, command[0] == "doctor" && command[1] != "--leak" ? 1 : 0) << outcome.err;
    }
}

TEST_F(Output, AReaderThatHasSeenEnoughEndsTheProgramQuietly) {
    for (const Arguments& command : commands()) {
        if (command[0] == "train") continue;  // it has to save its run first
        SCOPED_TRACE(shown(command));
        // "true" reads nothing; the pipe is closed before the first line is written.
        const Outcome outcome = through_shell("(sleep 0.2; exec \"$@\") | true", command);
        EXPECT_EQ(outcome.exit_code, 128 + SIGPIPE);
        EXPECT_EQ(outcome.err, "");
    }
}

/// A shell expands "~" at the beginning of a word only.
TEST(HomeFolder, IsKnownInEveryPathOfTheCommandLine) {
    const ScratchFolder scratch;
    const std::string home = scratch.path("home");
    const Outcome made = in_shell("mkdir -p home/sub && export HOME=\"$PWD/home\" && "
                                  "attnscope trace --preset causal-attention --out=~/sub/t.safetensors && "
                                  "attnscope doctor '~/sub/t.safetensors' > /dev/null; echo $?; ls home/sub",
                                  scratch.path(""));
    EXPECT_NE(made.out.find("t.safetensors"), std::string::npos) << made.out << made.err;
    EXPECT_EQ(made.err, "");
    const Outcome lesson = in_shell("export HOME=\"$PWD/home\"; attnscope render --lesson='~/none.json' --out=~/a.png", scratch.path(""));
    EXPECT_NE(lesson.err.find(home + "/none.json"), std::string::npos) << lesson.err;
}

}  // namespace
}  // namespace attn::test
