/// `attnscope snippet` as a user would use it: its output is run by Python.

#include <gtest/gtest.h>

#include "tests/cli/process.hpp"
#include "tests/support/python.hpp"

namespace attn::test {
namespace {

TEST(SnippetCommand, PrintsAProgramThatRuns) {
    const ScratchFolder folder;
    ATTN_NEEDS_NUMPY(folder.path(""));
    const Outcome outcome = attnscope({"snippet", "--text", "the cat sat", "--stage", "weights"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const PythonOutcome python = run_python(folder.path(""), outcome.out);
    EXPECT_TRUE(python.ok) << python.said;
    EXPECT_NE(python.said.find("largest difference: "), std::string::npos);
}

TEST(SnippetCommand, PutsOperandsIntoAFile) {
    const ScratchFolder folder;
    ATTN_NEEDS_NUMPY(folder.path(""));
    const std::string npz = folder.path("logits.npz");
    const Outcome outcome = attnscope({"snippet", "--preset", "gpt-tiny", "--stage", "logits", "--torch", "--operands", npz});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_LT(outcome.out.size(), 2000U);
    EXPECT_TRUE(run_python(folder.path(""), outcome.out, test::torch_path(folder.path(""))).ok);
    EXPECT_EQ(attnscope({"snippet", "--stage", "nothing"}).exit_code, 2);
    EXPECT_EQ(attnscope({"snippet", "--operands", "x.txt"}).exit_code, 2);
}

}  // namespace
}  // namespace attn::test
