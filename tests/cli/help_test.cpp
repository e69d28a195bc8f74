#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using testing::HasSubstr;

TEST(Help, NamesEveryCommandAndOption) {
    const Outcome outcome = attnscope({"--help"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    for (const char* word : {"--preset", "--text", "--text-file", "--version", "trace", "export", "snippet", "render", "check", "doctor",
                             "bench", "train", "sample", "lesson", "model", "tokenize", "completion", "man", "causal-attention"})
        EXPECT_THAT(outcome.out, HasSubstr(word));
}

TEST(Help, IsThereForEveryCommand) {
    for (const char* command : {"trace", "export", "snippet", "render", "check", "doctor", "bench", "train", "sample", "lesson", "model",
                                "tokenize", "completion", "man"}) {
        const Outcome outcome = attnscope({command, "--help"});
        EXPECT_EQ(outcome.exit_code, 0) << command;
        EXPECT_EQ(outcome.err, "");
        EXPECT_GT(outcome.out.size(), 100U);
    }
}

TEST(Help, VersionIsOneLine) {
    const Outcome outcome = attnscope({"--version"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, testing::MatchesRegex("attnscope [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

}  // namespace
}  // namespace attn::test
