/// Recordings of other people's code: what is read, what is refused, and what follows.

#include "engine/recording/recording.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <random>

#include "engine/io/file_error.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/recording/code_findings.hpp"
#include "engine/recording/follow.hpp"
#include "engine/recording/numbers.hpp"
#include "engine/recording/recorded_step.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::recording {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kB = 2, kH = 3, kT = 4, kD = 5;

/// The stages of a causal attention of H heads, computed with plain loops in single precision.
struct Plain {
    std::vector<float> q, k, v, scores, scaled, masked, weights, context;
};

Plain plain_attention(std::uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    const auto fill = [&](std::vector<float>& all, std::int64_t count) {
        all.resize(static_cast<std::size_t>(count));
        for (float& each : all) each = normal(random);
    };
    Plain plain;
    for (auto* all : {&plain.q, &plain.k, &plain.v}) fill(*all, kB * kH * kT * kD);
    for (auto* all : {&plain.scores, &plain.scaled, &plain.masked, &plain.weights})
        all->resize(static_cast<std::size_t>(kB * kH * kT * kT));
    plain.context.resize(plain.q.size());
    for (std::int64_t head = 0; head < kB * kH; ++head)
        for (std::int64_t t = 0; t < kT; ++t) {
            const auto row = static_cast<std::size_t>((head * kT + t) * kT);
            float sum = 0;
            for (std::int64_t s = 0; s < kT; ++s) {
                const std::size_t cell = row + static_cast<std::size_t>(s);
                for (std::int64_t d = 0; d < kD; ++d)
                    plain.scores[cell] += plain.q[static_cast<std::size_t>((head * kT + t) * kD + d)] *
                                          plain.k[static_cast<std::size_t>((head * kT + s) * kD + d)];
                plain.scaled[cell] = plain.scores[cell] / std::sqrt(static_cast<float>(kD));
                plain.masked[cell] = s > t ? -std::numeric_limits<float>::infinity() : plain.scaled[cell];
                plain.weights[cell] = std::exp(plain.masked[cell]);
                sum += plain.weights[cell];
            }
            for (std::int64_t s = 0; s < kT; ++s) plain.weights[row + static_cast<std::size_t>(s)] /= sum;
            for (std::int64_t d = 0; d < kD; ++d)
                for (std::int64_t s = 0; s < kT; ++s)
                    plain.context[static_cast<std::size_t>((head * kT + t) * kD + d)] +=
                        plain.weights[row + static_cast<std::size_t>(s)] * plain.v[static_cast<std::size_t>((head * kT + s) * kD + d)];
        }
    return plain;
}

constexpr std::string_view kGraph = R"({"format": "attnscope-recording/1", "run": 1, "graphs": [{"attentions": [{
  "name": "a", "source": "my.py:3", "axes": {"B": 2, "H": 3, "G": 3, "T": 4, "S": 4, "D": 5}, "scale": 0.4472135954999579, "stages": [
  {"name": "q", "op": "given", "axes": "BHTD"}, {"name": "k", "op": "given", "axes": "BGSD"}, {"name": "v", "op": "given", "axes": "BGSD"},
  {"name": "scores", "op": "product", "inputs": ["q", "k"], "axes": "BHTS"},
  {"name": "scaled", "op": "scale", "inputs": ["scores"], "axes": "BHTS", "by": 0.4472135954999579},
  {"name": "masked", "op": "mask", "inputs": ["scaled"], "axes": "BHTS", "causal": true, "fill": "-inf"},
  {"name": "weights", "op": "softmax", "inputs": ["masked"], "axes": "BHTS", "over": "S", "line": "my.py:7"},
  {"name": "context", "op": "product", "inputs": ["weights", "v"], "axes": "BHTD"}]}]}]})";

class RecordingTest : public testing::Test {
protected:
    std::filesystem::path path(const std::string& name) const { return name.empty() ? folder_.path() : folder_ / name; }
    void describe(std::string_view text) const { std::ofstream(path("recording.json"), std::ios::binary) << text; }
    void write_step(const Plain& plain, const std::string& name = "run1-step00000007-rank0.safetensors") const {
        const std::vector<std::int64_t> vectors{kB, kH, kT, kD}, map{kB, kH, kT, kT};
        ArrayFile file;
        file.metadata = {{"format", "attnscope-recording/1"}, {"graph", "0"}};
        const auto add = [&](const char* stage, const std::vector<std::int64_t>& shape, const std::vector<float>& values) {
            file.arrays.push_back(make_array<float>(std::string("a/") + stage, shape, values));
        };
        add("q", vectors, plain.q);
        add("k", vectors, plain.k);
        add("v", vectors, plain.v);
        add("scores", map, plain.scores);
        add("scaled", map, plain.scaled);
        add("masked", map, plain.masked);
        add("weights", map, plain.weights);
        add("context", vectors, plain.context);
        write_safetensors(path(name), file);
    }
    std::string refusal() const {
        try {
            read_recording(path(""));
            return "";
        } catch (const FileError& error) {
            return error.what();
        }
    }
    std::vector<StageCheck> checks() const {
        const Recording recording = read_recording(path(""));
        const StepFile& file = step_file(recording, {});
        const RecordedGraph& graph = recording.graphs.at(0);
        return check_stages(graph, graph.attentions.at(0), RecordedStep(file), parameters_as_of(recording, file));
    }

    test::TemporaryFolder folder_;
};

TEST_F(RecordingTest, EveryStageOfPlainLoopsFollows) {
    describe(kGraph);
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        write_step(plain_attention(seed));
        const std::vector<StageCheck> all = checks();
        ASSERT_EQ(all.size(), 8U);
        for (std::size_t i = 3; i < all.size(); ++i)
            EXPECT_EQ(all[i].outcome, Outcome::Follows)
                << all[i].stage << " " << all[i].reason << " " << all[i].recorded << " " << all[i].expected;
    }
}

/// A number that is off by a little more than rounding explains is found where it is, whichever it is.
TEST_F(RecordingTest, OneWrongNumberIsFoundAtItsCell) {
    describe(kGraph);
    std::mt19937 random(5);
    for (int trial = 0; trial < 60; ++trial) {
        Plain plain = plain_attention(static_cast<std::uint32_t>(trial));
        const std::array<std::vector<float>*, 4> stages{&plain.scores, &plain.scaled, &plain.weights, &plain.context};
        const std::array<std::string, 4> names{"scores", "scaled", "weights", "context"};
        const std::size_t which = static_cast<std::size_t>(trial) % stages.size();
        std::vector<float>& stage = *stages.at(which);
        const std::size_t cell = random() % stage.size();
        stage[cell] = trial % 3 == 0 ? std::numeric_limits<float>::quiet_NaN() : stage[cell] + 2e-5F;
        write_step(plain);
        const std::vector<StageCheck> all = checks();
        const auto found = std::find_if(all.begin(), all.end(), [&](const StageCheck& check) { return check.stage == names.at(which); });
        ASSERT_EQ(found->outcome, Outcome::Differs) << names.at(which) << " " << cell;
        const std::int64_t last = which == 3 ? kD : kT;
        const std::int64_t place = ((found->cell.at(0) * kH + found->cell.at(1)) * kT + found->cell.at(2)) * last + found->cell.at(3);
        EXPECT_EQ(place, static_cast<std::int64_t>(cell));
    }
}

TEST_F(RecordingTest, TheNewestRunIsReadAndItsStepsAreInOrder) {
    describe(R"({"format": "attnscope-recording/1", "run": 2, "tokens": [["the", "cat"]], "graphs": [{"attentions": []}]})");
    const Plain plain = plain_attention(1);
    for (const char* name :
         {"run2-step00000100-rank0.safetensors", "run2-step00000020-rank1.safetensors", "run1-step00000005-rank0.safetensors",
          "run2-step00000020-rank0.safetensors", ".run2-step00000200-rank0.safetensors.tmp", "run2-stepX-rank0.safetensors"})
        write_step(plain, name);
    const Recording recording = read_recording(path(""));
    std::vector<std::pair<std::int64_t, std::int64_t>> steps;
    for (const StepFile& step : recording.steps) steps.emplace_back(step.step, step.rank);
    EXPECT_THAT(steps, ElementsAre(std::pair(20, 0), std::pair(100, 0)));
    EXPECT_THAT(recording.ranks, ElementsAre(0, 1));
    EXPECT_EQ(recording.rank, 0);
    const Recording other = read_recording(path(""), 1);
    EXPECT_EQ(other.run, 2) << "without a description of its own, the newest run";
    ASSERT_EQ(other.steps.size(), 1U);
    EXPECT_EQ(other.steps[0].rank, 1);
    EXPECT_EQ(recording.files, 3U);
    EXPECT_EQ(count_steps(path(""), 2), 3U);
    EXPECT_EQ(step_file(recording, 20).rank, 0);
    EXPECT_EQ(step_file(recording, {}).step, 100);
    EXPECT_THROW(step_file(recording, 21), Error);
    EXPECT_THAT(recording.tokens.at(0), ElementsAre("the", "cat"));
}

TEST_F(RecordingTest, WithoutADescriptionTheNamesTellTheStages) {
    write_step(plain_attention(1));
    for (const Recording& recording : {read_recording(path("")), read_recording(path("run1-step00000007-rank0.safetensors"))}) {
        EXPECT_FALSE(recording.has_graph);
        ASSERT_EQ(recording.graphs.at(0).attentions.size(), 1U);
        const RecordedAttention& attention = recording.graphs.at(0).attentions.at(0);
        EXPECT_EQ(attention.name, "a");
        EXPECT_EQ(attention.size('H'), kH);
        EXPECT_EQ(attention.stages.front().name, "q");
        EXPECT_EQ(attention.stages.back().name, "context");
    }
}

TEST_F(RecordingTest, RefusesWhatCannotBeFollowedAndSaysWhere) {
    EXPECT_THAT(refusal(), HasSubstr("holds no recording"));
    const auto refused = [&](std::string_view text) {
        describe(text);
        return refusal();
    };
    EXPECT_THAT(refused("{"), HasSubstr("recording.json"));
    EXPECT_THAT(refused("[]"), HasSubstr("recording.json"));
    EXPECT_THAT(refused(R"({"run": 1})"), HasSubstr("format"));
    EXPECT_THAT(refused(R"({"format": "attnscope-recording/9"})"), HasSubstr("attnscope-recording/1"));
    const auto with_stages = [&](const std::string& stages) {
        return refused(R"({"format": "attnscope-recording/1", "graphs": [{"attentions": [{"name": "a", "stages": [)" + stages + "]}]}]}");
    };
    EXPECT_EQ(with_stages(R"({"name": "q"})"), "");
    EXPECT_THAT(with_stages(R"({"name": "q"}, {"name": "q"})"), HasSubstr("\"a/q\" occurs twice"));
    EXPECT_THAT(with_stages(R"({"name": "x", "inputs": ["y"]}, {"name": "y", "inputs": ["x"]})"), HasSubstr("lead back to it"));
    EXPECT_THAT(with_stages(R"({"name": "x", "inputs": ["x"]})"), HasSubstr("\"a/x\" lead back to it"));
    EXPECT_THAT(with_stages(R"({"name": "../../x"})"), HasSubstr("cannot be the name"));
    EXPECT_THAT(with_stages("{\"name\": \"" + std::string(600, 'x') + "\"}"), HasSubstr("cannot be the name"));
    EXPECT_THAT(with_stages(R"({"name": "q", "by": "much"})"), HasSubstr("/graphs/0/attentions/0/stages/0/by"));
    EXPECT_THAT(with_stages(R"({"name": "q", "have": "perhaps"})"), HasSubstr("have"));
    EXPECT_THAT(with_stages(R"({"name": "q", "extra": -1})"), HasSubstr("extra"));
    EXPECT_THAT(refused(R"({"format": "attnscope-recording/1", "graphs": [{"attentions": [{"name": "a", "axes": {"BH": 2}}]}]})"),
                HasSubstr("axis"));
    EXPECT_THAT(refused(R"({"format": "attnscope-recording/1", "graphs": [{"attentions": [{"name": "a", "axes": {"B": -2}}]}]})"),
                HasSubstr("/axes/B"));
    EXPECT_THAT(refused(R"({"format": "attnscope-recording/1", "tokens": "the cat"})"), HasSubstr("tokens"));
}

/// Sizes and axes that do not belong to the numbers make stages unknown; nothing is read out of place.
TEST_F(RecordingTest, FalseAxesAreSaidAndDoNoHarm) {
    write_step(plain_attention(3));
    std::mt19937 random(8);
    const std::string letters = "BHGTSDEC";
    for (int trial = 0; trial < 300; ++trial) {
        std::string text(kGraph);
        for (int change = 0; change < 3; ++change) {
            const std::size_t at = text.find("\"axes\": \"", random() % text.size());
            if (at == std::string::npos) continue;
            std::string axes;
            for (std::size_t i = random() % 6; i > 0; --i) axes += letters[random() % letters.size()];
            const std::size_t begin = at + 9, end = text.find('"', begin);
            text.replace(begin, end - begin, axes);
        }
        if (trial % 3 == 0) text.replace(text.find("\"T\": 4"), 6, "\"T\": " + std::to_string(random() % 7));
        if (trial % 5 == 0)
            text.replace(text.find("\"over\": \"S\""), 11, std::string("\"over\": \"") + letters[random() % letters.size()] + "\"");
        describe(text);
        const Recording recording = read_recording(path(""));
        const RecordedGraph& graph = recording.graphs.at(0);
        const RecordedStep step(step_file(recording, {}));
        const auto all = check_stages(graph, graph.attentions.at(0), step, parameters_as_of(recording, step_file(recording, {})));
        for (const StageCheck& check : all) EXPECT_EQ(check.outcome == Outcome::Unknown, !check.reason.empty()) << check.stage;
        findings_in(graph, graph.attentions.at(0), step, all);
    }
}

/// Sizes of tensors that are not those of the graph, and of the two factors of a product: nothing is read out of place.
TEST_F(RecordingTest, TensorsOfOtherSizesAreSaidAndDoNoHarm) {
    std::mt19937 random(11);
    const auto any = [&](std::int64_t most) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1)); };
    std::string text(kGraph);
    text.replace(text.find(R"("axes": {"B": 2, "H": 3, "G": 3, "T": 4, "S": 4, "D": 5}, )"), 58, "");
    describe(text);
    for (int trial = 0; trial < 300; ++trial) {
        ArrayFile file;
        for (const char* stage : {"q", "k", "v", "scores", "scaled", "masked", "weights", "context"}) {
            std::vector<std::int64_t> shape;
            for (std::int64_t rank = trial % 4 == 0 ? any(5) : 4; rank > 0; --rank) shape.push_back(any(4));
            std::int64_t count = 1;
            for (const std::int64_t size : shape) count *= size;
            file.arrays.push_back(
                make_array<float>(std::string("a/") + stage, shape, std::vector<float>(static_cast<std::size_t>(count), 0.5F)));
        }
        write_safetensors(path("run1-step00000007-rank0.safetensors"), file);
        for (const StageCheck& check : checks()) EXPECT_EQ(check.outcome == Outcome::Unknown, !check.reason.empty()) << check.stage;
    }
}

/// A long chain that was not recorded, and one in which every stage needs the one before it twice.
TEST_F(RecordingTest, ChainsThatWereNotRecordedEnd) {
    write_step(plain_attention(1));
    for (const char* inputs : {R"(["s%"])", R"(["s%", "s%"])"}) {
        std::string stages =
            R"({"name": "q", "axes": "BHTD"}, {"name": "s0", "op": "cast", "inputs": ["q"], "axes": "BHTD", "have": "follows"})";
        for (int i = 1; i < 4000; ++i) {
            std::string given = inputs;
            for (std::size_t at = given.find('%'); at != std::string::npos; at = given.find('%'))
                given.replace(at, 1, std::to_string(i - 1));
            stages += R"(, {"name": "s)" + std::to_string(i) + R"(", "op": "product", "inputs": )" + given +
                      R"(, "axes": "BHTD", "have": "follows"})";
        }
        stages += R"(, {"name": "scores", "op": "product", "inputs": ["s3999", "s3999"], "axes": "BHTS"})";
        describe(R"({"format": "attnscope-recording/1", "graphs": [{"attentions": [{"name": "a", "stages": [)" + stages + "]}]}]}");
        const std::vector<StageCheck> all = checks();
        EXPECT_THAT(all.back().reason, HasSubstr("not recorded"));
    }
}

/// The maps of a long text that were not recorded are not computed whole.
TEST_F(RecordingTest, WhatWouldBeTooLargeIsSaid) {
    constexpr std::int64_t kLong = 9000;
    std::string text(kGraph);
    text.replace(text.find(R"("T": 4, "S": 4)"), 14, R"("T": 9000, "S": 9000)");
    describe(text);
    ArrayFile file;
    const std::vector<std::int64_t> shape{2, 3, kLong, 5};
    for (const char* stage : {"q", "k", "v", "context"})
        file.arrays.push_back(make_array<float>(std::string("a/") + stage, shape, std::vector<float>(2 * 3 * kLong * 5, 0.5F)));
    write_safetensors(path("run1-step00000007-rank0.safetensors"), file);
    const std::vector<StageCheck> all = checks();
    EXPECT_EQ(all.back().outcome, Outcome::Unknown);
    EXPECT_THAT(all.back().reason, HasSubstr("too large"));
}

/// Bytes of the description are changed at random: either an error that names the file, or a recording.
TEST_F(RecordingTest, ChangedBytesAreRefusedOrRead) {
    write_step(plain_attention(3));
    std::mt19937 random(9);
    int refused = 0, read = 0;
    for (int trial = 0; trial < 2000; ++trial) {
        std::string text(kGraph);
        for (int change = 0; change < 1 + trial % 3; ++change) text[random() % text.size()] = static_cast<char>(random() % 256);
        describe(text);
        const std::string problem = refusal();
        if (problem.empty()) ++read;
        else {
            ++refused;
            EXPECT_THAT(problem, HasSubstr("recording.json"));
        }
    }
    EXPECT_GT(refused, 500);
    EXPECT_GT(read, 50);
}

TEST_F(RecordingTest, AChangedScaleIsNamed) {
    const auto finding_at_scale = [&](double scale) -> std::string {
        Plain plain = plain_attention(4);
        for (std::size_t i = 0; i < plain.scaled.size(); ++i) plain.scaled[i] = static_cast<float>(plain.scores[i] * scale);
        write_step(plain);
        std::string text(kGraph);
        for (std::size_t at = text.find("0.4472135954999579"); at != std::string::npos; at = text.find("0.4472135954999579"))
            text.replace(at, 18, std::to_string(scale));
        describe(text);
        const Recording recording = read_recording(path(""));
        const RecordedGraph& graph = recording.graphs.at(0);
        const auto found = findings_in(graph, graph.attentions.at(0), RecordedStep(step_file(recording, {})), {});
        return found.empty() ? "" : found[0].bug;
    };
    EXPECT_EQ(finding_at_scale(1), "no_scale");
    EXPECT_EQ(finding_at_scale(1.0 / 5), "scaled_twice");
    EXPECT_EQ(finding_at_scale(1 / std::sqrt(15.0)), "scale_d_model");
    EXPECT_EQ(finding_at_scale(0.289), "") << "a scale of its own is no mistake";
}

}  // namespace
}  // namespace attn::recording
