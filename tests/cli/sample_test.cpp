/// What `attnscope sample` writes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using Arguments = std::vector<std::string>;

/// A model that has learned to write "abcd" over and over, with an é now and then out of reach.
class SampleCommand : public testing::Test {
protected:
    static void SetUpTestSuite() {
        folder_ = std::make_unique<ScratchFolder>();
        std::string text;
        for (int i = 0; i < 600; ++i) text += "abcd";
        const Outcome outcome = attnscope({"train",
                                           "--text-file",
                                           folder_->file("abcd.txt", text),
                                           "--steps",
                                           "150",
                                           "--threads",
                                           "1",
                                           "--set",
                                           "task.length=12",
                                           "--set",
                                           "d_model=16",
                                           "--set",
                                           "d_ff=16",
                                           "--set",
                                           "num_layers=1",
                                           "--set",
                                           "batch_size=8",
                                           "--set",
                                           "evaluate_every=50",
                                           "--set",
                                           "schedule.rate=0.01",
                                           "--out",
                                           folder_->path("run")});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    }
    static void TearDownTestSuite() { folder_.reset(); }

    static Outcome sample(const Arguments& more) {
        Arguments arguments{"sample", "--model", folder_->path("run/model.safetensors")};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return attnscope(arguments);
    }

    static std::unique_ptr<ScratchFolder> folder_;
};
std::unique_ptr<ScratchFolder> SampleCommand::folder_;

TEST_F(SampleCommand, WritesOnWhatItHasLearned) {
    const Outcome outcome = sample({"--prompt", "abcdab", "--tokens", "20", "--temperature", "0"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "abcdab"
                           "cdabcdabcdabcdabcdab"
                           "\n");
    EXPECT_EQ(sample({"--prompt", "ab", "--tokens", "0"}).out, "ab\n");
}

TEST_F(SampleCommand, JsonSaysTheSame) {
    const Arguments hot{"--prompt", "abc", "--tokens", "30", "--temperature", "3", "--seed", "4"};
    const Outcome plain = sample(hot);
    Arguments with_json = hot;
    with_json.push_back("--json");
    const json line = json::parse(sample(with_json).out);
    EXPECT_EQ(line.at("prompt"), "abc");
    EXPECT_EQ("abc" + line.at("text").get<std::string>() + "\n", plain.out);
    std::string joined;
    for (const json& token : line.at("tokens")) joined += token.at("text").get<std::string>();
    EXPECT_EQ(line.at("text"), joined);
    EXPECT_EQ(line.at("tokens").size(), 30U);
}

TEST_F(SampleCommand, DependsOnSeedTemperatureAndCuts) {
    const auto with = [](const Arguments& more) {
        Arguments arguments{"--prompt", "a", "--tokens", "60"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return sample(arguments).out;
    };
    const std::string first = with({"--temperature", "5", "--seed", "1"});
    EXPECT_EQ(first, with({"--temperature", "5", "--seed", "1"}));
    EXPECT_NE(first, with({"--temperature", "5", "--seed", "2"}));
    EXPECT_EQ(with({"--temperature", "5", "--top-k", "1"}), with({"--temperature", "0"}));
    EXPECT_EQ(with({"--temperature", "5", "--top-p", "1e-9"}), with({"--temperature", "0"}));
    EXPECT_NE(first, with({"--temperature", "0"}));
}

TEST_F(SampleCommand, RefusesWhatItCannotDo) {
    const auto refused = [](const Arguments& arguments, const std::string& words) {
        const Outcome outcome = attnscope(arguments);
        SCOPED_TRACE(testing::PrintToString(arguments));
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_EQ(outcome.out, "");
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr(words));
    };
    const std::string model = folder_->path("run");
    refused({"sample"}, "--prompt");
    refused({"sample", "--prompt", "Lily"}, "--model FILE or --preset NAME");
    refused({"sample", "--preset", "gpt-tiny", "--prompt", "a"}, "random weights");
    refused({"sample", "--preset", "stories", "--model", model, "--prompt", "a"}, "--model FILE or --preset NAME");
    refused({"sample", "--model", model}, "--prompt");
    refused({"sample", "--model", folder_->path("nothing"), "--prompt", "a"}, "nothing");
    refused({"sample", "--model", folder_->path("abcd.txt"), "--prompt", "a"}, "abcd.txt");
    refused({"sample", "--model", model, "--prompt", ""}, "--prompt");
    refused({"sample", "--model", model, "--prompt", "axb"}, "x");
    for (const char* temperature : {"-1", "nan", "inf", "hot", ""})
        refused({"sample", "--model", model, "--prompt", "a", "--temperature", temperature}, "temperature");
    for (const char* k : {"-1", "1.5", "x"}) refused({"sample", "--model", model, "--prompt", "a", "--top-k", k}, "top-k");
    for (const char* p : {"0", "-1", "1.01", "nan", "x"}) refused({"sample", "--model", model, "--prompt", "a", "--top-p", p}, "top-p");
    for (const char* tokens : {"-1", "1.5", "99999999999"})
        refused({"sample", "--model", model, "--prompt", "a", "--tokens", tokens}, "tokens");
}

}  // namespace
}  // namespace attn::test
