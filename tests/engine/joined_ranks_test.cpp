/// A recording cut into what two processes of tensor parallelism record has to come back as it was.

#include "engine/recording/joined_ranks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "engine/io/safetensors.hpp"
#include "engine/recording/follow.hpp"
#include "engine/recording/model_of_recording.hpp"
#include "engine/recording/recorded_step.hpp"
#include "engine/tensor/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::recording {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::filesystem::path kWhole = std::filesystem::path(ATTN_TEST_DATA) / "golden/recorded/run.attn";

std::string step_name(int rank) { return "run1-step00000000-rank" + std::to_string(rank) + ".safetensors"; }

/// Columns `first` to `first + count` of an axis.
NamedArray cut(const NamedArray& array, std::size_t axis, std::int64_t first, std::int64_t count) {
    const std::vector<float> all = values_as<float>(array, "");
    std::int64_t outer = 1, inner = 1;
    for (std::size_t i = 0; i < array.shape.size(); ++i)
        if (i != axis) (i < axis ? outer : inner) *= array.shape[i];
    std::vector<float> part;
    for (std::int64_t o = 0; o < outer; ++o)
        for (std::int64_t c = first; c < first + count; ++c)
            for (std::int64_t i = 0; i < inner; ++i) part.push_back(all[static_cast<std::size_t>((o * array.shape[axis] + c) * inner + i)]);
    std::vector<std::int64_t> shape = array.shape;
    shape[axis] = count;
    return make_array<float>(array.name, shape, part);
}

bool ends_with_any(const std::string& name, std::initializer_list<const char*> ends) {
    return std::any_of(ends.begin(), ends.end(), [&](const char* end) { return name.ends_with(end); });
}

/// What one of two processes has of a tensor of the recorded model: two heads, 8 channels, q, k and v from one weight.
NamedArray part_of(const NamedArray& whole, int rank) {
    const auto half = [&](std::size_t axis) { return cut(whole, axis, rank * whole.shape[axis] / 2, whole.shape[axis] / 2); };
    const auto third = [&](std::size_t axis) {
        const std::int64_t width = whole.shape[axis] / 3;
        std::vector<std::byte> bytes;
        for (std::int64_t block = 0; block < 3; ++block) {
            const NamedArray piece = cut(whole, axis, block * width + rank * width / 2, width / 2);
            bytes.insert(bytes.end(), piece.bytes.begin(), piece.bytes.end());
        }
        std::vector<std::int64_t> shape = whole.shape;
        shape[axis] /= 2;
        return NamedArray{whole.name, whole.dtype, shape, bytes};
    };
    if (ends_with_any(whole.name, {"/q", "/k", "/v", "/scores", "/scaled", "/masked", "/weights", "/context"})) return half(1);
    if (ends_with_any(whole.name, {"/concat", "/ffn_hidden", "/ffn_activation"})) return half(2);
    if (ends_with_any(whole.name, {"qkv.weight", "qkv.bias"})) return third(0);
    if (ends_with_any(whole.name, {"up.weight", "up.bias"})) return half(0);
    if (ends_with_any(whole.name, {"out.weight", "down.weight"})) return half(1);
    return whole;
}

class JoinedRanks : public testing::Test {
protected:
    JoinedRanks() {
        std::ifstream in(kWhole / "recording.json");
        text_ = {std::istreambuf_iterator<char>(in), {}};
        replace_all(R"("H":2,"G":2)", R"("H":1,"G":1)");
        for (int rank = 0; rank < 2; ++rank) {
            parts_.push_back(whole_);
            for (NamedArray& array : parts_.back().arrays) array = part_of(array, rank);
        }
        write();
    }
    void replace_all(const std::string& what, const std::string& by) {
        std::size_t at = text_.find(what);
        ASSERT_NE(at, std::string::npos);
        for (; at != std::string::npos; at = text_.find(what, at)) text_.replace(at, what.size(), by);
    }
    NamedArray& at(int rank, const std::string& name) {
        std::vector<NamedArray>& arrays = parts_.at(static_cast<std::size_t>(rank)).arrays;
        return *std::find_if(arrays.begin(), arrays.end(), [&](const NamedArray& each) { return each.name == name; });
    }
    void write() {
        for (int rank = 0; rank < 2; ++rank) {
            std::ofstream(folder_ / (rank == 0 ? "recording.json" : "recording-rank1.json")) << text_;
            write_safetensors(folder_ / step_name(rank), parts_.at(static_cast<std::size_t>(rank)));
        }
    }
    void change_all(int rank, const std::string& name) {
        NamedArray& array = at(rank, name);
        std::vector<float> numbers = values_as<float>(array, "");
        for (float& number : numbers) number = -number + 0.125F;
        array = make_array<float>(name, array.shape, numbers);
    }
    Recording read(std::optional<std::int64_t> rank = {}) const { return read_recording(folder_.path(), rank); }

    test::TemporaryFolder folder_;
    std::string text_;
    const ArrayFile whole_ = read_safetensors(kWhole / step_name(0));
    std::vector<ArrayFile> parts_;
};

TEST_F(JoinedRanks, HeadsAndParametersAreThoseThatWereCut) {
    const Recording recording = read();
    EXPECT_FALSE(recording.rank.has_value());
    EXPECT_TRUE(recording.can_join);
    EXPECT_THAT(recording.ranks, ElementsAre(0, 1));
    for (const RecordedAttention& attention : recording.graphs.at(0).attentions) {
        EXPECT_EQ(attention.size('H'), 2);
        EXPECT_EQ(attention.size('G'), 2);
        EXPECT_EQ(attention.size('D'), 4);
    }
    const RecordedStep step(step_file(recording, {}));
    for (const NamedArray& whole : whole_.arrays) {
        ASSERT_NE(step.find(whole.name), nullptr) << whole.name;
        EXPECT_EQ(step.find(whole.name)->shape, whole.shape) << whole.name;
        EXPECT_EQ(step.read(whole.name), whole) << whole.name;
    }
}

TEST_F(JoinedRanks, EveryStageFollowsAndTheModelIsTheWholeOne) {
    const Recording recording = read();
    const StepFile& file = step_file(recording, {});
    const RecordedGraph& graph = recording.graphs.at(0);
    for (const RecordedAttention& attention : graph.attentions)
        for (const StageCheck& check : check_stages(graph, attention, RecordedStep(file), parameters_as_of(recording, file)))
            EXPECT_EQ(check.outcome, Outcome::Follows) << attention.name << " " << check.stage << " " << check.reason;
    const RecordedModel joined = model_of_recording(recording), whole = model_of_recording(read_recording(kWhole));
    EXPECT_EQ(joined.compared, whole.compared);
    EXPECT_LT(joined.farthest, 2e-6);
}

/// A sum over the channels that a process has, before the processes add theirs.
TEST_F(JoinedRanks, PartialSumsAreAdded) {
    const std::string name = "layers.1/ffn_out";
    const std::vector<float> sum = values_as<float>(at(0, name), "");
    std::mt19937 random(3);
    std::vector<float> first, second;
    for (const float number : sum) {
        first.push_back(std::ldexp(static_cast<float>(random() % 64), -4));
        second.push_back(number - first.back());
    }
    at(0, name) = make_array<float>(name, at(0, name).shape, first);
    at(1, name) = make_array<float>(name, at(1, name).shape, second);
    write();
    const Recording recording = read();
    ASSERT_FALSE(recording.rank.has_value());
    const std::vector<float> joined = values_as<float>(RecordedStep(step_file(recording, {})).read(name), "");
    ASSERT_EQ(joined.size(), sum.size());
    for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(joined[i], first[i] + second[i]) << i;
}

TEST_F(JoinedRanks, OneProcessCanStillBeLookedAt) {
    const Recording second = read(1);
    EXPECT_EQ(second.rank, 1);
    EXPECT_TRUE(second.can_join);
    EXPECT_EQ(RecordedStep(step_file(second, {})).read("layers.0.attention/q"), at(1, "layers.0.attention/q"));
}

/// The same model on another text; another model on the same text; the same in both: none of them has parts.
TEST_F(JoinedRanks, WhatIsNotDividedIsNotJoined) {
    const auto is_joined = [&] { return !read().rank.has_value(); };
    EXPECT_TRUE(is_joined());
    const std::vector<ArrayFile> parts = parts_;
    for (const NamedArray& array : whole_.arrays)
        if (!array.name.starts_with("parameters/") && !array.name.starts_with("inputs/")) change_all(1, array.name);
    write();
    EXPECT_FALSE(is_joined()) << "another text";
    parts_ = parts;
    for (const char* name : {"layers.0/residual_1", "layers.0/residual_2", "layers.1/norm_1"}) change_all(1, name);
    write();
    EXPECT_FALSE(is_joined()) << "another model";
    parts_[1] = parts_[0] = parts[0];
    write();
    EXPECT_FALSE(is_joined()) << "copies";
    EXPECT_EQ(read().rank, 0);
    EXPECT_FALSE(read().can_join);
}

/// What cannot be joined says so and is not there; the rest is.
TEST_F(JoinedRanks, AStageThatDiffersForNoKnownReasonIsLeftOut) {
    const std::string name = "token_embedding";
    change_all(1, name);
    replace_all(R"("op":"embedding")", R"("op":"given")");
    write();
    const Recording recording = read();
    ASSERT_FALSE(recording.rank.has_value());
    const std::vector<RecordedStage>& around = recording.graphs.at(0).around;
    const auto stage = std::find_if(around.begin(), around.end(), [&](const RecordedStage& each) { return each.name == name; });
    ASSERT_NE(stage, around.end());
    EXPECT_EQ(stage->have, Have::No);
    EXPECT_THAT(stage->reason, HasSubstr("each process"));
    EXPECT_EQ(RecordedStep(step_file(recording, {})).find(name), nullptr);
}

/// A step counts when all processes have it; the joints are not found out again.
TEST_F(JoinedRanks, StepsThatAllHaveAreSteps) {
    const Recording before = read();
    const std::filesystem::path next = folder_ / "run1-step00000010-rank0.safetensors";
    write_safetensors(next, parts_[0]);
    EXPECT_EQ(read().steps.size(), 1U);
    EXPECT_EQ(read().files, 3U);
    write_safetensors(folder_ / "run1-step00000010-rank1.safetensors", parts_[1]);
    const Recording after = read_recording(folder_.path(), {}, &before);
    ASSERT_EQ(after.steps.size(), 2U);
    EXPECT_EQ(after.steps.back().joints, before.steps.front().joints);
    EXPECT_EQ(RecordedStep(after.steps.back()).read("layers.0.attention/weights"), whole_.at("layers.0.attention/weights"));
}

/// At first a map of zeros leaves the same in all processes; later steps tell that these were partial sums.
TEST_F(JoinedRanks, WhatBeginsAsZerosIsNotTakenForWhole) {
    const std::string name = "layers.0.attention/attention_out";
    NamedArray& first = at(0, name);
    const NamedArray zeros = make_array<float>(name, first.shape, std::vector<float>(first.bytes.size() / 4, 0.0F));
    const std::vector<float> ones(first.bytes.size() / 4, 1.0F), twos(ones.size(), 2.0F);
    at(0, name) = at(1, name) = zeros;
    write();
    const Recording before = read();
    EXPECT_FALSE(before.joints_are_sure);
    for (const int rank : {0, 1}) {
        at(rank, name) = make_array<float>(name, zeros.shape, rank == 0 ? ones : twos);
        write_safetensors(folder_ / ("run1-step00000010-rank" + std::to_string(rank) + ".safetensors"),
                          parts_[static_cast<std::size_t>(rank)]);
    }
    const Recording after = read_recording(folder_.path(), {}, &before);
    EXPECT_TRUE(after.joints_are_sure);
    for (const float number : values_as<float>(RecordedStep(step_file(after, 10)).read(name), "")) EXPECT_EQ(number, 3);
    for (const float number : values_as<float>(RecordedStep(step_file(after, 0)).read(name), "")) EXPECT_EQ(number, 0);
}

/// Two replicas of a model of which each has two parts: which belong together is not said.
TEST_F(JoinedRanks, ReplicasBesidePartsAreNotJoined) {
    for (const int rank : {2, 3}) {
        std::ofstream(folder_ / ("recording-rank" + std::to_string(rank) + ".json")) << text_;
        write_safetensors(folder_ / step_name(rank), parts_[static_cast<std::size_t>(rank - 2)]);
    }
    EXPECT_EQ(read().rank, 0);
    EXPECT_FALSE(read().can_join);
    EXPECT_EQ(read(3).rank, 3);
}

/// Of keys and values that all processes have alike, there are no more than before.
TEST_F(JoinedRanks, SharedKeysAreThereOnce) {
    for (const std::string layer : {"layers.0.attention", "layers.1.attention"})
        for (const std::string stage : {"/k", "/v"}) at(1, layer + stage) = at(0, layer + stage);
    replace_all(R"("axes":"BHSD")", R"("axes":"BGSD")");
    write();
    const Recording recording = read();
    ASSERT_FALSE(recording.rank.has_value());
    const RecordedAttention& attention = recording.graphs.at(0).attentions.at(0);
    EXPECT_EQ(attention.size('H'), 2);
    EXPECT_EQ(attention.size('G'), 1);
    EXPECT_EQ(attention.repeat, 2);
    EXPECT_EQ(RecordedStep(step_file(recording, {})).read("layers.0.attention/k"), at(0, "layers.0.attention/k"));
}

TEST_F(JoinedRanks, DamageToOneProcessLeavesTheOthers) {
    std::ofstream(folder_ / "recording-rank1.json") << "{";
    EXPECT_EQ(read().rank, 0);
    EXPECT_FALSE(read(0).can_join);
    EXPECT_THROW(read(1), Error);
    write();
    std::filesystem::resize_file(folder_ / step_name(1), 20);
    EXPECT_EQ(read().rank, 0);
    EXPECT_EQ(RecordedStep(step_file(read(0), {})).read("layers.0.attention/q"), at(0, "layers.0.attention/q"));
}

/// Files of other shapes than those that were compared are read as far as their parts fit.
TEST_F(JoinedRanks, PartsThatDoNotFitAreNotRead) {
    NamedArray& q = at(1, "layers.0.attention/q");
    q = cut(q, 2, 0, 3);
    ArrayFile other = parts_[1];
    parts_[1].arrays = parts_[0].arrays;
    for (std::size_t i = 0; i < whole_.arrays.size(); ++i) parts_[1].arrays[i] = part_of(whole_.arrays[i], 1);
    write_safetensors(folder_ / "run1-step00000010-rank0.safetensors", parts_[0]);
    write_safetensors(folder_ / "run1-step00000010-rank1.safetensors", other);
    write();
    const Recording recording = read();
    ASSERT_FALSE(recording.rank.has_value());
    const RecordedStep step(step_file(recording, 10));
    EXPECT_EQ(step.find("layers.0.attention/q"), nullptr);
    EXPECT_THROW(step.read("layers.0.attention/q"), Error);
    EXPECT_NE(step.find("layers.0.attention/k"), nullptr);
}

}  // namespace
}  // namespace attn::recording
