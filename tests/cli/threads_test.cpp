/// Absurd numbers of threads, and systems that refuse to start any.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

/// The model after two steps with this value of OMP_NUM_THREADS.
std::string model_trained_with(const char* threads) {
    const ScratchFolder folder;
    ::setenv("OMP_NUM_THREADS", threads, 1);
    const Outcome outcome = attnscope({"train", "--task", "copy", "--steps", "2", "--out", folder.path("run")});
    ::unsetenv("OMP_NUM_THREADS");
    EXPECT_EQ(outcome.exit_code, 0) << threads << ": " << outcome.err;
    return read_bytes(folder.path("run/model.safetensors"));
}

TEST(Threads, AnyNumberInTheEnvironmentTrainsTheSameModel) {
    const std::string alone = model_trained_with("1");
    for (const char* threads : {"2", "65536", "100000000000", "0", "-3", "many"})
        EXPECT_TRUE(model_trained_with(threads) == alone) << threads;
}

TEST(Threads, OptionsBeyondTheMostAreRefused) {
    const ScratchFolder folder;
    for (const char* threads : {"0", "257", "65536"}) {
        const Outcome outcome = attnscope({"train", "--task", "copy", "--steps", "2", "--out", folder.path("run"), "--threads", threads});
        EXPECT_EQ(outcome.exit_code, 2) << threads;
        EXPECT_NE(outcome.err.find("--threads"), std::string::npos) << outcome.err;
    }
}

/// What a running attnscope has in its environment about waiting threads, given this before its name, and its own name.
std::string waiting_in(const std::string& environment) {
    const ScratchFolder folder;
    const std::string command =
        "unset OMP_WAIT_POLICY GOMP_SPINCOUNT; " + environment +
        " '" ATTNSCOPE_BINARY "' train --task copy --steps 100000000 --out run > log & "
        "until [ -s log ]; do sleep 0.05; done; "
        "tr '\\0' '\\n' < /proc/$!/environ | grep -E '^(OMP_WAIT_POLICY|GOMP_SPINCOUNT)='; cat /proc/$!/comm; kill -KILL $!";
    return in_shell(command, folder.path("")).out;
}

TEST(Threads, ThoseThatWaitSoonSleepUnlessTheUserSaysOtherwise) {
    EXPECT_EQ(waiting_in(""), "GOMP_SPINCOUNT=1000\nattnscope\n");
    EXPECT_EQ(waiting_in("GOMP_SPINCOUNT=7"), "GOMP_SPINCOUNT=7\nattnscope\n");
    EXPECT_EQ(waiting_in("OMP_WAIT_POLICY=active"), "OMP_WAIT_POLICY=active\nattnscope\n");
}

/// Arguments, exit code and name survive the restart, and whoever runs the program keeps running it.
TEST(Threads, TheRestartChangesNothingElse) {
    const ScratchFolder folder;
    const std::string binary = ATTNSCOPE_BINARY, away = "unset OMP_WAIT_POLICY GOMP_SPINCOUNT; ";
    const std::string version = in_shell("attnscope --version", folder.path("")).out;
    const std::string place = binary.substr(0, binary.rfind('/'));
    EXPECT_EQ(in_shell(away + "cd '" + place + "'; ./attnscope --version", folder.path("")).out, version);
    EXPECT_EQ(in_shell(away + "unset -f attnscope; PATH='" + place + "'; attnscope --version", folder.path("")).out, version);
    const Outcome refused = in_shell(away + "attnscope trace --text 'two  words' --out", folder.path(""));
    EXPECT_EQ(refused.exit_code, 2);
    const Outcome loaded =
        in_shell(away + "$(ldd '" + binary + "' | grep -o '/[^ ]*ld-linux[^ ]*') '" + binary + "' --version", folder.path(""));
    EXPECT_EQ(loaded.out, version) << loaded.err;
}

/// Exit code and stderr of attnscope under a limit on processes and threads.
Outcome with_limit(int threads, const std::string& arguments) {
    const TemporaryFolder folder;
    const std::string err = (folder / "err").string(), limit = std::to_string(threads);
    std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
    const std::string command =
        "cd '" + folder.path().string() +
        "' && OMP_NUM_THREADS=8 env -u DISPLAY -u WAYLAND_DISPLAY setpriv --reuid=65531 --clear-groups prlimit --nproc=" + limit + ":" +
        limit + " '" ATTNSCOPE_BINARY "' " + arguments + " > out 2> err";
    Outcome outcome;
    outcome.exit_code = std::system(command.c_str()) >> 8;
    outcome.err = read_bytes(err);
    return outcome;
}

TEST(Threads, RefusedThreadsAreDoneWithoutOrReported) {
#ifdef ATTN_SANITIZED
    GTEST_SKIP() << "the sanitizers need a thread of their own";
#endif
    if (::geteuid() != 0) GTEST_SKIP() << "needs a user of its own";
    const std::string train = "train --task copy --steps 2 --out run";
    if (with_limit(100, train).exit_code != 0) GTEST_SKIP() << "other users cannot run the program here";
    for (const int threads : {1, 2, 4}) {
        const Outcome trained = with_limit(threads, train);
        EXPECT_EQ(trained.exit_code, 0) << threads << ": " << trained.err;
        EXPECT_EQ(trained.err.find("thread"), std::string::npos) << trained.err;
        const Outcome traced = with_limit(threads, "trace --out trace.safetensors");
        EXPECT_EQ(traced.exit_code, 2) << threads;
        EXPECT_NE(traced.err.find("cannot start another thread"), std::string::npos) << traced.err;
        EXPECT_EQ(std::count(traced.err.begin(), traced.err.end(), '\n'), 1) << traced.err;
    }
}

}  // namespace
}  // namespace attn::test
