/// Running out of memory at any point ends a command with a message, never with a signal. ATTN_EVERY_ALLOCATION=1 tests every allocation,
/// which takes hours; otherwise a sample is tested.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using Arguments = std::vector<std::string>;

/// Runs attnscope, or attnscope-dev for its commands, with tests/support/failing_allocations.cpp preloaded and configured by `variables`.
Outcome with_failures(const Arguments& variables, const Arguments& arguments) {
    Arguments words{"/usr/bin/env", "LD_PRELOAD=" ATTN_FAILING_ALLOCATIONS};
    words.insert(words.end(), variables.begin(), variables.end());
    words.push_back(arguments[0] == "check" ? ATTNSCOPE_DEV_BINARY : ATTNSCOPE_BINARY);
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run_program(words);
}

/// The indices of the allocations to fail, out of `count`: all, or evenly spaced ones.
std::set<long> sample(long count) {
    constexpr long kTried = 25;
    const bool every = std::getenv("ATTN_EVERY_ALLOCATION") != nullptr;
    std::set<long> tried;
    for (long i = 1; i <= (every ? count : kTried); ++i) tried.insert(every ? i : 1 + (count - 1) * i / kTried);
    return tried;
}

/// Counts the lines that do not say that nothing of a run is kept.
int lines_but_notices(const std::string& text) {
    std::istringstream lines(text);
    int count = 0;
    for (std::string line; std::getline(lines, line);) count += line.find("attnscope: nothing of this run ") == 0 ? 0 : 1;
    return count;
}

class FailingAllocations : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        shared_folder = std::make_unique<ScratchFolder>();
        ASSERT_EQ(attnscope({"train", "--task", "copy", "--steps", "3", "--set", "batch_size=2", "--out", path("run")}).exit_code, 0);
        ASSERT_EQ(attnscope({"trace", "--bug", "no_scale", "--out", path("trace.safetensors")}).exit_code, 0);
    }
    static void TearDownTestSuite() { shared_folder.reset(); }
    static std::string path(const std::string& name) { return shared_folder->path(name); }

    /// `exit_code`: of a run without failures.
    static void expect_survived(const Arguments& command, int exit_code = 0) {
        const std::string counted = path("count");
        const Outcome whole = with_failures({"ATTN_COUNT_FILE=" + counted}, command);
        ASSERT_EQ(whole.exit_code, exit_code) << whole.err;
        long count = 0;
        std::ifstream(counted) >> count;
        ASSERT_GT(count, 100) << "allocations are not counted";
        int failed = 0;
        for (const long at : sample(count))
            for (const char* on : {"0", "1"}) {
                const std::string fail_at = "ATTN_FAIL_AT=" + std::to_string(at), fail_on = std::string("ATTN_FAIL_ON=") + on;
                const Outcome outcome = with_failures({fail_at, fail_on}, command);
                SCOPED_TRACE(command[0] + ": " + fail_at + " " + fail_on + " of " + std::to_string(count));
                EXPECT_EQ(outcome.ended_by, 0) << outcome.err;
                // Work may continue without a failed allocation, such as that of a cache; but if nothing is reported, all of it must be
                // done.
                EXPECT_TRUE(outcome.exit_code == 2 || outcome.exit_code == exit_code) << outcome.exit_code << outcome.err;
                EXPECT_EQ(lines_but_notices(outcome.err), outcome.exit_code == 2 ? 1 : 0) << outcome.err;
                // A worker may end the program only if memory never becomes available again.
                if (on[0] == '0') {
                    EXPECT_EQ(outcome.err.find("to continue"), std::string::npos) << outcome.err;
                }
                failed += outcome.exit_code == 2 ? 1 : 0;
            }
        EXPECT_GT(failed, 10) << "no allocation fails: is the library loaded?";
    }

    static inline std::unique_ptr<ScratchFolder> shared_folder;
};

TEST_F(FailingAllocations, Trace) {
    expect_survived({"trace", "--text", "a b", "--out", path("t.safetensors")});
    expect_survived({"trace", "--preset", "encoder-decoder", "--out", path("t.safetensors")});
}
TEST_F(FailingAllocations, Export) { expect_survived({"export", "--run", path("run"), "--stage", "weights", "--out", path("w.csv")}); }
TEST_F(FailingAllocations, Snippet) { expect_survived({"snippet", "--preset", "gpt-tiny", "--stage", "weights"}); }
TEST_F(FailingAllocations, Check) {
    expect_survived({"check", ATTN_TEST_DATA "/golden/gpt2.safetensors", ATTN_TEST_DATA "/golden/notebook_multi_head.npz"});
}
TEST_F(FailingAllocations, ModelFolder) {
    expect_survived({"model", ATTN_TEST_DATA "/golden/hf/gpt2"});
    expect_survived({"check", ATTN_TEST_DATA "/golden/hf/gpt2"});
    expect_survived({"tokenize", "--model", ATTN_TEST_DATA "/golden/hf/tokenizers/qwen2", "--text", "The cat e\u0301 12", "--json"});
}
TEST_F(FailingAllocations, Doctor) {
    expect_survived({"doctor", path("trace.safetensors")}, 1);
    expect_survived({"doctor", "--json", path("trace.safetensors")}, 1);
}
TEST_F(FailingAllocations, Sample) { expect_survived({"sample", "--model", path("run"), "--prompt", "ab>", "--tokens", "10", "--json"}); }
TEST_F(FailingAllocations, Train) {
    expect_survived({"train", "--task", "copy", "--steps", "3", "--set", "batch_size=2", "--json"});
    expect_survived({"train", "--resume", path("run"), "--steps", "6", "--json"});
}
TEST_F(FailingAllocations, Lesson) { expect_survived({"lesson", "--list"}); }

}  // namespace
}  // namespace attn::test
