/// When `attnscope train` saves, when it refuses to, and what happens when saving fails.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "engine/io/folder_lock.hpp"
#include "engine/train/run_folder_writer.hpp"
#include "tests/cli/process.hpp"
#include "tests/support/planted_links.hpp"

namespace attn::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using Arguments = std::vector<std::string>;

constexpr const char* kEndless = "1000000";
constexpr std::chrono::seconds kLimit{120};

/// A very short run that prints --json lines.
Arguments tiny_run(const std::string& out, const std::string& steps, const Arguments& more = {}) {
    Arguments arguments{"train", "--task", "copy", "--threads", "1", "--json", "--steps", steps, "--out", out};
    for (const char* setting :
         {"d_model=8", "d_ff=8", "num_heads=2", "num_layers=1", "task.length=4", "batch_size=4", "evaluate_every=100000"})
        arguments.insert(arguments.end(), {"--set", setting});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

std::vector<json> lines_of(const std::string& text) {
    std::vector<json> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
    return lines;
}

std::vector<std::string> events_of(const std::string& text) {
    std::vector<std::string> events;
    for (const json& line : lines_of(text)) {
        if (line.contains("event")) events.push_back(line.at("event").get<std::string>());
    }
    return events;
}

void expect_refused(const Arguments& arguments, const std::string& words) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const Outcome outcome = attnscope(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(words));
}

TEST(TrainSaving, AClosedPipeEndsTheRunAsASignalDoes) {
    const ScratchFolder folder;
    const std::string out = folder.path("run");
    const Outcome outcome = attnscope(tiny_run(out, kEndless), kLimit, {{kClosePipe, 20}});
    EXPECT_EQ(outcome.exit_code, 128 + SIGPIPE) << outcome.ended_by << outcome.err;
    const RunFolder run = read_run_folder(out);
    EXPECT_GE(run.checkpoint.steps, 19);
    EXPECT_EQ(run.losses.size(), static_cast<std::size_t>(run.checkpoint.steps));
    // Ctrl-C in a pipeline reaches the reader too; the signal counts, whichever arrives first.
    const Outcome both = attnscope(tiny_run(out, kEndless, {"--force"}), kLimit, {{SIGINT, 20}, {kClosePipe, 20}});
    EXPECT_THAT(both.exit_code, AnyOf(128 + SIGINT, 128 + SIGPIPE)) << both.ended_by;
    EXPECT_GE(read_run_folder(out).checkpoint.steps, 19);
}

/// The disk holds the model and its moments only for a while.
TEST(TrainSaving, OnAFullDiskTheNewestModelIsWorthMoreThanOldMoments) {
    const ScratchFolder folder;
    const std::string place = folder.path("place");
    fs::create_directory(place);
    std::string train = "\"" ATTNSCOPE_BINARY "\"";
    for (const std::string& word : tiny_run("small/run", "400", {"--save-every", "20", "--set", "d_model=32", "--set", "d_ff=128"}))
        train += " " + word;
    const auto on_disk_of = [&](const char* size) {
        return in_shell(std::string("mkdir -p small && unshare -rm sh -c 'mount -t tmpfs -o size=") + size + " none small || exit 77; " +
                            train + " >out; code=$?; rm -rf kept; cp -r small/run kept; exit $code'",
                        place);
    };
    for (const char* size : {"500k", "700k", "1300k"}) {
        SCOPED_TRACE(size);
        const Outcome outcome = on_disk_of(size);
        if (outcome.exit_code == 77 || outcome.err.find("unshare") != std::string::npos) GTEST_SKIP() << "no disk can be made here";
        EXPECT_EQ(outcome.exit_code, 2) << "which is said";
        EXPECT_THAT(outcome.err, HasSubstr("the model after step 400 is saved, but some of its files are not"));
        const RunFolder run = read_run_folder(place + "/kept");
        EXPECT_EQ(run.checkpoint.steps, 400);
        EXPECT_EQ(run.losses.size(), 400U);
    }
    EXPECT_EQ(on_disk_of("20m").exit_code, 0) << "with room for all";
    EXPECT_EQ(read_run_folder(place + "/kept").moments.size(), kMostMoments);
}

TEST(TrainSaving, HangingUpIsNoSecondSignal) {
    const ScratchFolder folder;
    const std::string out = folder.path("run");
    for (const auto& [first, second] : {std::pair{SIGHUP, SIGHUP}, {SIGTERM, SIGHUP}, {SIGHUP, SIGTERM}}) {
        const Outcome outcome = attnscope(tiny_run(out, kEndless, {"--force"}), kLimit, {{first, 20}, {second, 20}});
        EXPECT_THAT(outcome.exit_code, AnyOf(128 + first, 128 + second)) << outcome.ended_by;
        EXPECT_GE(read_run_folder(out).checkpoint.steps, 19);
    }
    const auto before = ::signal(SIGHUP, SIG_IGN);  // as nohup does
    const Outcome outcome = attnscope(tiny_run(out, kEndless, {"--force"}), kLimit, {{SIGHUP, 20}, {SIGTERM, 2000}});
    ::signal(SIGHUP, before);
    EXPECT_EQ(outcome.exit_code, 128 + SIGTERM);
    EXPECT_GE(read_run_folder(out).checkpoint.steps, 1999);
}

TEST(TrainSaving, ARunIsNotReplacedUnasked) {
    const ScratchFolder folder;
    const std::string out = folder.path("run"), other = folder.path("other");
    ASSERT_EQ(attnscope(tiny_run(out, "6")).exit_code, 0);
    ASSERT_EQ(attnscope(tiny_run(other, "3")).exit_code, 0);
    const std::string model = read_bytes(out + "/model.safetensors");
    expect_refused(tiny_run(out, "4", {"--seed", "2"}), out + ": already holds model.safetensors: continue that run with --resume " + out +
                                                            ", replace it with --force, or choose another folder");
    expect_refused({"train", "--resume", other, "--steps", "9", "--out", out}, "--force");
    EXPECT_EQ(read_bytes(out + "/model.safetensors"), model);

    // The newest checkpoint of a folder continues in it, however it is named; an older one replaces it.
    for (const std::string& name : {out, out + "/", out + "/model.safetensors", other + "/../run"}) {
        const std::int64_t steps = read_run_folder(out).checkpoint.steps + 1;
        const Outcome outcome = attnscope({"train", "--resume", name, "--steps", std::to_string(steps), "--out", out, "--json"});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(read_run_folder(out).losses.size(), static_cast<std::size_t>(steps));
    }
    expect_refused({"train", "--resume", out + "/model.previous.safetensors", "--steps", "30", "--out", out}, "--force");

    EXPECT_EQ(attnscope(tiny_run(out, "4", {"--seed", "2", "--force"})).exit_code, 0);
    const RunFolder replaced = read_run_folder(out);
    EXPECT_EQ(replaced.checkpoint.steps, 4);
    EXPECT_EQ(replaced.checkpoint.settings.seed, 2U);
    EXPECT_EQ(replaced.losses.size(), 4U);

    // Files of a run without its model, and unrelated files.
    fs::remove(out + "/model.safetensors");
    expect_refused(tiny_run(out, "4"), "model.previous.safetensors");
    fs::create_directory(folder.path("notes"));
    folder.file("notes/readme.txt", "mine");
    EXPECT_EQ(attnscope(tiny_run(folder.path("notes"), "2")).exit_code, 0);
    EXPECT_EQ(read_bytes(folder.path("notes/readme.txt")), "mine");
    expect_refused({"train", "--task", "copy", "--force"}, "--out");
}

TEST(TrainSaving, OneProcessAtATimeWritesIntoAFolder) {
    const ScratchFolder folder;
    const std::string out = folder.path("run");
    // The second one starts while the first is running.
    const auto second = [&] {
        for (const char* force : {"", "--force"})
            expect_refused(tiny_run(out, "3", *force == '\0' ? Arguments{} : Arguments{force}), "another process");
        expect_refused({"train", "--resume", out, "--steps", "9", "--out", out}, "another process");
    };
    const Outcome outcome = attnscope(tiny_run(out, kEndless, {"--save-every", "5"}), kLimit, {{0, 20, {}, second}, {SIGTERM, 20}});
    EXPECT_EQ(outcome.exit_code, 128 + SIGTERM);
    EXPECT_GE(read_run_folder(out).checkpoint.steps, 19);
    // A killed process leaves no lock behind.
    EXPECT_EQ(attnscope(tiny_run(out, kEndless, {"--force"}), kLimit, {{SIGKILL, 5}}).ended_by, SIGKILL);
    EXPECT_EQ(attnscope(tiny_run(out, "3", {"--force"})).exit_code, 0);
}

TEST(TrainSaving, SavesAsOftenAsItIsAsked) {
    const ScratchFolder folder;
    const std::string out = folder.path("run");
    EXPECT_EQ(attnscope(tiny_run(out, kEndless, {"--save-every", "7"}), kLimit, {{SIGKILL, 30}}).ended_by, SIGKILL);
    const std::int64_t steps = read_run_folder(out).checkpoint.steps;
    EXPECT_GE(steps, 21);
    EXPECT_EQ(steps % 7, 0);
    // Without a line per step, because nobody reads them during the test.
    Arguments timed = tiny_run(folder.path("timed"), kEndless, {"--save-every", "1s"});
    std::erase(timed, "--json");
    const auto saved = [&] {
        for (int i = 0; i < 1000 && !fs::exists(folder.path("timed/model.safetensors")); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
    };
    EXPECT_EQ(attnscope(timed, kLimit, {{0, 3, {}, saved}, {SIGKILL, 3}}).ended_by, SIGKILL);
    EXPECT_GT(read_run_folder(folder.path("timed")).checkpoint.steps, 0);
    for (const char* pace : {"0", "-1", "x", "1x", "1.5", "", "5 s", "s", "99999999999"})
        expect_refused(tiny_run(folder.path("new"), "3", {"--save-every", pace}), "--save-every");
    EXPECT_FALSE(fs::exists(folder.path("new")));
}

TEST(TrainSaving, TrainsOnWhenASaveFailsAndTriesAgain) {
    const ScratchFolder folder;
    const std::string out = folder.path("run"), model = out + "/model.safetensors";
    const auto block = [&] {
        fs::rename(model, out + "/aside");
        fs::create_directory(model);
    };
    const auto clear = [&] {
        fs::remove(model);
        fs::rename(out + "/aside", model);
    };
    const Outcome healed =
        attnscope(tiny_run(out, kEndless, {"--save-every", "200"}), kLimit, {{0, 1000, {}, block}, {0, 3000, {}, clear}, {SIGTERM, 5000}});
    EXPECT_EQ(healed.exit_code, 128 + SIGTERM) << healed.err;
    const std::vector<std::string> events = events_of(healed.out);
    ASSERT_GE(events.size(), 2U) << healed.err;
    EXPECT_EQ(events.front(), "save_failed");
    EXPECT_EQ(events.back(), "saved");
    EXPECT_THAT(healed.err, HasSubstr("is a folder"));
    EXPECT_THAT(healed.err, HasSubstr("training continues"));
    EXPECT_THAT(healed.err, Not(HasSubstr("lost")));
    const RunFolder run = read_run_folder(out);
    // The 5,000 lines before the signal are steps and events.
    EXPECT_GE(run.checkpoint.steps + static_cast<std::int64_t>(events.size()), 4999);
    EXPECT_EQ(run.losses.size(), static_cast<std::size_t>(run.checkpoint.steps));

    const Outcome lost =
        attnscope(tiny_run(out, kEndless, {"--save-every", "200", "--force"}), kLimit, {{0, 1000, {}, block}, {SIGTERM, 3000}});
    EXPECT_EQ(lost.exit_code, 2) << lost.err;
    clear();
    const std::int64_t kept = read_run_folder(out).checkpoint.steps;
    std::int64_t reached = 0;
    for (const json& line : lines_of(lost.out)) reached = line.at("step").get<std::int64_t>();
    EXPECT_THAT(lost.err, HasSubstr("what was learned after step " + std::to_string(kept) + " is lost (" + std::to_string(reached - kept) +
                                    " steps)"));
}

TEST(TrainSaving, WhatCannotBeWrittenIsFoundBeforeTraining) {
    const ScratchFolder folder;
    const std::string out = folder.path("run");
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    rlimit small = before;
    small.rlim_cur = 20000;  // like a disk with less space than a checkpoint needs
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    expect_refused(tiny_run(out, "3"), "model.safetensors: cannot be written");
    ::setrlimit(RLIMIT_FSIZE, &before);
    ASSERT_EQ(attnscope(tiny_run(out, "3")).exit_code, 0);

    fs::create_directory(folder.path("pictures"));
    fs::create_symlink("victim", folder.path("pictures/attention.png"));
    expect_refused(tiny_run(folder.path("pictures"), "3"), "attention.png: is a symbolic link");

    // A model that is a link into another folder: neither folder is touched.
    fs::rename(out + "/model.safetensors", folder.path("elsewhere"));
    fs::create_symlink(folder.path("elsewhere"), out + "/model.safetensors");
    const std::string bytes = read_bytes(folder.path("elsewhere"));
    expect_refused({"train", "--resume", out, "--steps", "9", "--out", out}, "model.safetensors: is a symbolic link");
    EXPECT_EQ(read_bytes(folder.path("elsewhere")), bytes);
    EXPECT_FALSE(fs::exists(out + "/model.previous.safetensors"));

    // Nor is a folder of moments that is one: whoever made the run decided where it leads.
    const std::string planted = folder.path("planted"), others = folder.path("others");
    ASSERT_EQ(attnscope(tiny_run(planted, "3")).exit_code, 0);
    fs::rename(planted + "/moments", others);
    fs::create_directory_symlink(others, planted + "/moments");
    const auto held = contents_of(others);
    ASSERT_FALSE(held.empty());
    expect_refused({"train", "--resume", planted, "--steps", "9", "--out", planted}, "moments: is a symbolic link");
    expect_refused(tiny_run(planted, "3", {"--force"}), "moments: is a symbolic link");
    EXPECT_EQ(contents_of(others), held);
}

/// What the window has saved of a run stays with it, and another rate is a change like any other.
TEST(TrainSaving, KeepsNameAndCourseOfARun) {
    const ScratchFolder folder;
    const std::string out = folder.path("run");
    ASSERT_EQ(attnscope(tiny_run(out, "3")).exit_code, 0);
    RunFolder run = read_run_folder(out);
    run.checkpoint.name = "warm";
    run.checkpoint.course.origin = RunOrigin{2, 1};
    write_run_folder(out, run, {}, 3);
    ASSERT_EQ(attnscope({"train", "--resume", out, "--steps", "5", "--set", "train.schedule.rate=0.01", "--out", out, "--json"}).exit_code,
              0);
    const Checkpoint now = read_run_checkpoint(out);
    EXPECT_EQ(now.name, "warm");
    EXPECT_EQ(now.course.origin, (RunOrigin{2, 1, "", true}));
    ASSERT_EQ(now.course.changes.size(), 1U);
    EXPECT_EQ(now.course.changes[0].step, 3);
    EXPECT_EQ(now.course.changes[0].settings.train.schedule.rate, 0.01);
}

TEST(TrainSaving, ClearsAwayWhatAKilledRunLeft) {
    const ScratchFolder folder;
    const std::string out = folder.path("run");
    ASSERT_EQ(attnscope(tiny_run(out, "3")).exit_code, 0);
    for (const char* name : {"run/.attnscope-0123.tmp", "run/moments/.attnscope-4567.tmp"}) folder.file(name, "half a file");
    folder.file("run/mine.tmp", "mine");
    ASSERT_EQ(attnscope({"train", "--resume", out, "--steps", "4", "--out", out, "--json"}).exit_code, 0);
    for (const auto& entry : fs::recursive_directory_iterator(out))
        EXPECT_FALSE(entry.path().filename().string().starts_with(".attnscope")) << entry.path();
    EXPECT_TRUE(fs::exists(out + "/mine.tmp"));
}

}  // namespace
}  // namespace attn::test
