/// Makes every system call of saving in `attnscope train` fail once, or kills the process after it. In every case the folder then holds the
/// run as before or after a save, and resuming it gives the same bits as without the fault.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <sstream>
#include <tuple>
#include <vector>

#include "engine/train/run_folder.hpp"
#include "tests/cli/curve_table.hpp"
#include "tests/cli/process.hpp"
#include "tests/cli/traced_process.hpp"

namespace attn::test {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;
using Arguments = std::vector<std::string>;

/// 2 steps, after which the run is resumed.
Arguments new_run(const std::string& out, const char* seed = "1") {
    Arguments arguments{"train", "--task", "copy", "--threads", "1", "--seed", seed, "--steps", "2", "--out", out};
    for (const char* setting : {"d_model=8", "d_ff=8", "num_heads=2", "num_layers=1", "task.length=4", "batch_size=4", "evaluate_every=2",
                                "dropout.residual=0.1", "total_steps=40"})
        arguments.insert(arguments.end(), {"--set", setting});
    return arguments;
}

/// Whether a fault at this call is told apart from one at the next: a process killed before a call that changes nothing leaves what it
/// leaves when it is killed before the next one, a full disk is told by calls that need space only, and permission is asked for by name.
/// Every call may meet an input/output error.
bool matters(const std::string& call, int error) {
    if (error == 0) return changes_files(call);
    if (error == ENOSPC) return needs_space(call);
    return error != EACCES || names_a_file(call);
}

/// 4 more steps with a save after the second of them and at the end, or 2 more with one save.
enum class Saves : std::uint8_t { Two, One };
Arguments resumed_run(const std::string& out, Saves saves) {
    return {"train", "--resume",     out, "--steps", saves == Saves::Two ? "6" : "4", "--out", out, "--threads",
            "1",     "--save-every", "4", "--json"};
}

struct Files {
    std::string model, curves, heads;
    explicit Files(const std::string& folder)
        : model(read_bytes(folder + "/model.safetensors")), curves(without_times(read_bytes(folder + "/curves.csv"))),
          heads(read_bytes(folder + "/heads.csv")) {}
};

/// Names of differing files; for text files with the first differing line.
std::string difference(const Files& found, const Files& expected) {
    std::string names;
    if (found.model != expected.model) names += "model ";
    for (const auto& [name, a, b] : {std::tuple{"curves", &found.curves, &expected.curves}, {"heads", &found.heads, &expected.heads}}) {
        if (*a == *b) continue;
        const auto at = static_cast<std::size_t>(std::mismatch(a->begin(), a->end(), b->begin(), b->end()).first - a->begin());
        const std::size_t line = a->rfind('\n', at);
        names += std::string(name) + ": " + a->substr(line == std::string::npos ? 0 : line + 1, 120) + " ";
    }
    return names;
}

bool has_temporaries(const std::string& folder) {
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.path().extension() == ".tmp") return true;
    return false;
}

/// All that a folder holds, but for times in curves and random names.
std::string contents(const std::string& folder) {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const bool is_temporary = entry.path().extension() == ".tmp";
        std::string bytes = entry.is_regular_file() ? read_bytes(entry.path().native()) : "";
        if (entry.path().extension() == ".csv" || (is_temporary && bytes.find('\0') == std::string::npos)) bytes = without_times(bytes);
        const auto mode = static_cast<unsigned>(entry.symlink_status().permissions());
        const fs::path name = is_temporary ? entry.path().parent_path() / "temporary" : entry.path();
        files.push_back(name.native() + ' ' + std::to_string(mode) + ' ' + std::to_string(bytes.size()) + '\n' + bytes);
    }
    std::sort(files.begin(), files.end());
    std::string all;
    for (const std::string& file : files) all += file;
    return all;
}

void copy_run(const std::string& from, const std::string& to) {
    fs::remove_all(to);
    fs::copy(from, to, fs::copy_options::recursive);
}

class SaveFaults : public testing::Test {
protected:
    void SetUp() override {
        if (!can_trace()) GTEST_SKIP() << "processes cannot be traced here";
        ::setenv("ATTNSCOPE_KERNELS", "baseline", 1);  // hundreds of short runs need not find the fastest
        ASSERT_EQ(attnscope(new_run(old_)).exit_code, 0);
    }

    /// Resumes the run with this fault at every call in turn.
    void try_every_call(int error, bool lasting, Saves saves = Saves::Two) {
        const Arguments resumed = resumed_run(run_, saves);
        copy_run(old_, run_);
        const TracedOutcome undisturbed = attnscope_traced(resumed, run_);
        ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.err;
        ASSERT_GT(undisturbed.calls.size(), 100U);
        const Files whole(run_);
        std::size_t failed = 0;
        std::set<std::string> resumed_from;  // many faults leave the same files, and from the same files the same follows
        for (std::size_t call = 0; call < undisturbed.calls.size(); ++call) {
            if (!matters(undisturbed.calls[call], error)) continue;
            SCOPED_TRACE(undisturbed.calls[call] + ", call " + std::to_string(call));
            copy_run(old_, run_);
            const TracedOutcome outcome = attnscope_traced(resumed, run_, Fault{call, error, lasting});
            if (error == 0) {
                EXPECT_EQ(outcome.ended_by, SIGKILL);
            }
            if (error != 0) expect_told(outcome);
            failed += outcome.exit_code != 0 ? 1U : 0U;
            if (outcome.exit_code == 0) {
                EXPECT_EQ(difference(Files(run_), whole), "") << "what it says to have saved is not there";
            }
            expect_complete();
            if (outcome.exit_code != 0 && resumed_from.insert(contents(run_)).second) expect_goes_on(resumed, whole);
            if (HasFailure()) return;
        }
        EXPECT_GT(failed, 0U) << "no fault made any difference: nothing was tested";
    }

    void expect_goes_on(const Arguments& resumed, const Files& whole) {
        const Outcome again = attnscope(resumed);
        ASSERT_EQ(again.exit_code, 0) << again.err;
        EXPECT_EQ(difference(Files(run_), whole), "") << "going on gives something else";
        EXPECT_FALSE(has_temporaries(run_));
    }

    void expect_told(const TracedOutcome& outcome) {
        EXPECT_THAT(outcome.exit_code, AnyOf(0, 2)) << outcome.ended_by << outcome.err;
        if (outcome.exit_code != 2) return;
        const bool began = !outcome.out.empty();
        EXPECT_THAT(outcome.err, HasSubstr(run_));
        if (began) {
            EXPECT_THAT(outcome.err, AnyOf(HasSubstr("lost"), HasSubstr("is saved"))) << outcome.out;
        }
        EXPECT_FALSE(outcome.err.empty());
    }

    /// Expects the previous run, or that of the interrupted or final save, with complete curves.
    void expect_complete() {
        const RunFolder now = read_run_folder(run_);
        EXPECT_THAT(now.checkpoint.steps, AnyOf(2, 4, 6));
        ASSERT_EQ(now.losses.size(), static_cast<std::size_t>(now.checkpoint.steps));
        for (std::size_t i = 0; i < now.losses.size(); ++i) EXPECT_EQ(now.losses[i].step, static_cast<std::int64_t>(i) + 1);
        EXPECT_EQ(now.heads.size(), static_cast<std::size_t>(now.checkpoint.steps / 2 + 1));
    }

    const NoScreen no_screen_;  // pictures are not tested here
    const ScratchFolder folder_{};
    const std::string old_ = folder_.path("old"), run_ = folder_.path("run");
};

TEST_F(SaveFaults, KilledAtEveryCall) { try_every_call(0, false); }
TEST_F(SaveFaults, TheDiskIsFullFromEveryCallOn) { try_every_call(ENOSPC, true); }
TEST_F(SaveFaults, EveryCallFailsOnceWithAFullDisk) { try_every_call(ENOSPC, false); }
TEST_F(SaveFaults, EveryCallFailsOnceWithAnInputOutputError) { try_every_call(EIO, false, Saves::One); }
TEST_F(SaveFaults, EveryCallFailsOnceForWantOfPermission) { try_every_call(EACCES, false, Saves::One); }

/// Replacing a run in the same folder leaves either the old or the new one.
TEST_F(SaveFaults, ReplacingARunLeavesOneOfTheTwo) {
    Arguments replacing = new_run(run_, "2");
    replacing.insert(replacing.end(), {"--force", "--json"});
    copy_run(old_, run_);
    const RunFolder before = read_run_folder(run_);
    const std::vector<std::string> calls = attnscope_traced(replacing, run_).calls;
    const RunFolder after = read_run_folder(run_);
    ASSERT_GT(calls.size(), 50U);
    std::size_t kept = 0, replaced = 0;
    for (const auto& [error, lasting] : {std::pair{0, false}, {ENOSPC, true}, {EIO, false}})
        for (std::size_t call = 0; call < calls.size(); ++call) {
            if (!matters(calls[call], error)) continue;
            SCOPED_TRACE(testing::Message() << "error " << error << ", call " << call << ", " << calls[call]);
            copy_run(old_, run_);
            const TracedOutcome outcome = attnscope_traced(replacing, run_, Fault{call, error, lasting});
            if (error != 0) expect_told(outcome);
            const RunFolder now = read_run_folder(run_);
            const bool is_old = now.checkpoint.settings.seed == 1;
            (is_old ? kept : replaced) += 1;
            const RunFolder& expected = is_old ? before : after;
            for (std::size_t i = 0; i < now.losses.size(); ++i) EXPECT_EQ(now.losses[i].loss, expected.losses.at(i).loss);
            // Curves are removed last, when only the new checkpoint remains to be renamed, so never for lack of space.
            EXPECT_THAT(now.losses.size(), AnyOf(0, expected.losses.size()));
            if (is_old && calls[call] == "write") {
                EXPECT_EQ(now.losses.size(), before.losses.size());
            }
            if (outcome.exit_code == 0) {
                EXPECT_FALSE(is_old);
            }
            if (HasFailure()) return;
        }
    EXPECT_GT(kept, 0U);
    EXPECT_GT(replaced, 0U);
}

}  // namespace
}  // namespace attn::test
