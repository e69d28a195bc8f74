/// --step and --compare-step: which moment of a training run a command uses, and that it reports it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

#include "engine/io/npy.hpp"
#include "engine/io/safetensors.hpp"
#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using testing::HasSubstr;
using Arguments = std::vector<std::string>;

/// A folder with a run of 90 steps, of which not all moments were kept.
class Moments : public testing::Test {
protected:
    static void SetUpTestSuite() {
        shared_folder = std::make_unique<ScratchFolder>();
        Arguments train{"train", "--task", "copy", "--steps", "90", "--threads", "1", "--out", shared_folder->path("run")};
        for (const char* set :
             {"d_model=16", "d_ff=16", "num_heads=2", "num_layers=1", "task.length=4", "batch_size=4", "evaluate_every=45"})
            train.insert(train.end(), {"--set", set});
        const Outcome outcome = attnscope(train);
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        for (const auto& entry : std::filesystem::directory_iterator(shared_folder->path("run/moments"))) {
            const std::string name = entry.path().filename().string();  // step-N.safetensors
            kept_steps.insert(std::stoll(name.substr(5)));
        }
    }
    static void TearDownTestSuite() { shared_folder.reset(); }

    void SetUp() override { ASSERT_GT(kept_steps.size(), 10U); }

    /// A step that was not kept and is nearer to the later of its neighbours.
    static std::int64_t before_a_moment() {
        for (auto later = std::next(kept_steps.begin()); later != kept_steps.end(); ++later)
            if (*later - *std::prev(later) >= 3) return *later - 1;
        return -1;
    }
    static std::string run() { return shared_folder->path("run"); }
    static std::string out(const std::string& name) { return shared_folder->path(name); }
    /// The token embedding in the moment's own file.
    static std::vector<std::byte> embedding_of(std::int64_t step) {
        return read_safetensors(out("run/moments/step-" + std::to_string(step) + ".safetensors")).at("transformer.wte.weight").bytes;
    }

    static std::unique_ptr<ScratchFolder> shared_folder;
    static std::set<std::int64_t> kept_steps;
};

std::unique_ptr<ScratchFolder> Moments::shared_folder;
std::set<std::int64_t> Moments::kept_steps;

TEST_F(Moments, TheNearestIsTakenAndNamed) {
    const std::int64_t step = before_a_moment();
    ASSERT_GT(step, 0);
    const std::string asked = std::to_string(step), taken = std::to_string(step + 1);
    const Arguments run_and_step{"--run", run(), "--step", asked};
    const auto with = [&](Arguments command) {
        command.insert(command.end(), run_and_step.begin(), run_and_step.end());
        const Outcome outcome = attnscope(command);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr("step " + asked)) << command[0];
        EXPECT_THAT(outcome.err, HasSubstr("step " + taken)) << command[0];
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
        return outcome.out;
    };
    EXPECT_THAT(with({"export", "--stage", "token_embedding.weight", "--out", out("e.npy")}), HasSubstr("step " + taken));
    const NamedArray exported = read_npy(out("e.npy"));
    EXPECT_TRUE(exported.bytes == embedding_of(step + 1));
    EXPECT_FALSE(exported.bytes == embedding_of(*std::prev(kept_steps.find(step + 1)))) << "the moment before is another one";
    EXPECT_THAT(with({"trace", "--out", out("t.safetensors")}), HasSubstr("step " + taken));
    EXPECT_EQ(read_safetensors(out("t.safetensors")).metadata.at("trained_step"), taken);
    with({"export", "--out", out("all.safetensors")});
    EXPECT_EQ(read_safetensors(out("all.safetensors")).metadata.at("trained_step"), taken);
    EXPECT_TRUE(read_bytes(out("all.safetensors")) == read_bytes(out("t.safetensors")));
    with({"snippet", "--stage", "weights"});
}

TEST_F(Moments, AKeptStepIsTakenWithoutAWord) {
    const std::int64_t step = *std::next(kept_steps.begin(), 3);
    const Outcome outcome = attnscope({"trace", "--run", run(), "--step", std::to_string(step), "--out", out("t.safetensors")});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(read_safetensors(out("t.safetensors")).metadata.at("trained_step"), std::to_string(step));
    EXPECT_EQ(attnscope({"trace", "--run", run(), "--out", out("t.safetensors")}).exit_code, 0);
    EXPECT_EQ(read_safetensors(out("t.safetensors")).metadata.at("trained_step"), "90") << "the newest by default";
}

TEST_F(Moments, WhatTheRunDoesNotHaveIsRefused) {
    const auto refused = [&](Arguments command, const std::string& words) {
        command.insert(command.end(), {"--run", run()});
        const Outcome outcome = attnscope(command);
        EXPECT_EQ(outcome.exit_code, 2) << command[0];
        EXPECT_EQ(outcome.out, "");
        EXPECT_THAT(outcome.err, HasSubstr(words));
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    };
    for (const char* step : {"91", "99999"}) {
        refused({"export", "--stage", "weights", "--step", step, "--out", out("never.csv")}, "90 steps");
        refused({"trace", "--step", step, "--out", out("never.safetensors")}, "90 steps");
        refused({"render", "--step", step, "--out", out("never.png")}, "90 steps");
        refused({"render", "--compare-step", step, "--out", out("never.png")}, "90 steps");
    }
    for (auto later = std::next(kept_steps.begin()); later != kept_steps.end(); ++later) {
        const std::int64_t gap = *later - *std::prev(later);
        if (gap < 2 || gap % 2 != 0) continue;
        refused({"trace", "--step", std::to_string(*later - gap / 2), "--out", out("never.safetensors")}, "halfway between");
        break;
    }
    for (const char* name : {"never.csv", "never.safetensors", "never.png"}) EXPECT_FALSE(std::filesystem::exists(out(name)));
}

TEST_F(Moments, PicturesSayWhichOneTheyShow) {
    if (std::getenv("DISPLAY") == nullptr && std::getenv("ATTN_REQUIRE_GL") == nullptr) GTEST_SKIP() << "there is no screen";
    const std::int64_t step = before_a_moment();
    const Outcome outcome = attnscope(
        {"render", "--run", run(), "--step", std::to_string(step), "--compare-step", std::to_string(step), "--out", out("p.png")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("model of step " + std::to_string(step + 1)));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 2) << outcome.err;
}

}  // namespace
}  // namespace attn::test
