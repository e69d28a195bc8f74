/// The output of `attnscope sample`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using Arguments = std::vector<std::string>;

/// A model that has learned to repeat "abcd".
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

TEST_F(SampleCommand, SaysWhatWasNoLongerRead) {
    const auto err_after = [](int tokens, const Arguments& more = {}) {
        Arguments arguments{"--prompt", "abcdab", "--tokens", std::to_string(tokens)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return sample(arguments).err;
    };
    const std::string grown = err_after(100);
    const std::string words = "The text grew beyond the model's context of ";
    ASSERT_THAT(grown, HasSubstr(words));
    const int context = std::atoi(grown.c_str() + grown.find(words) + words.size());
    ASSERT_GT(context, 6);
    // The last token is drawn, but nothing reads it.
    EXPECT_THAT(grown, HasSubstr("the first " + std::to_string(6 + 100 - 1 - context) + " were no longer read"));
    EXPECT_EQ(err_after(context - 6 + 1), "");
    EXPECT_THAT(err_after(context - 6 + 2, {"--json"}), HasSubstr("the first 1 were no longer read"));
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

TEST_F(SampleCommand, JsonSaysWhatTheSamplerKept) {
    const json line =
        json::parse(sample({"--prompt", "abc", "--tokens", "12", "--temperature", "4", "--top-k", "3", "--min-p", "0.01", "--json"}).out);
    ASSERT_EQ(line.at("tokens").size(), 12U);
    for (const json& token : line.at("tokens")) {
        const json& candidates = token.at("candidates");
        const std::int64_t kept = token.at("kept");
        EXPECT_GE(kept, 1);
        EXPECT_LE(kept, 3);
        double chances = 0, before = 1;
        bool drawn = false;
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            const json& candidate = candidates[i];
            EXPECT_EQ(candidate.contains("cut"), static_cast<std::int64_t>(i) >= kept);
            EXPECT_EQ(candidate.at("chance") == 0, candidate.contains("cut"));
            if (i >= 3) {
                EXPECT_EQ(candidate.at("cut"), "top-k");
            }
            EXPECT_LE(candidate.at("probability"), before) << "the likeliest first";
            before = candidate.at("probability");
            chances += candidate.at("chance").get<double>();
            if (candidate.at("id") != token.at("id")) continue;
            drawn = true;
            EXPECT_EQ(candidate.at("probability"), token.at("probability"));
            EXPECT_EQ(candidate.at("chance"), token.at("chance"));
            EXPECT_FALSE(candidate.contains("cut"));
        }
        EXPECT_TRUE(drawn) << "what was drawn is among those that could be";
        EXPECT_NEAR(chances, 1, 1e-9);
    }
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
    EXPECT_EQ(with({"--temperature", "5", "--min-p", "1"}), with({"--temperature", "0"}));
    EXPECT_NE(first, with({"--temperature", "0"}));
}

TEST_F(SampleCommand, TakesItsPromptAsATextToo) {
    const auto sampled = [](const char* option) {
        return attnscope({"sample", "--preset", "stories", option, "Lily and Tom are in the park .", "--tokens", "5"});
    };
    const Outcome prompt = sampled("--prompt"), text = sampled("--text");
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_THAT(text.out, testing::StartsWith("Lily and Tom are in the park . "));
    EXPECT_EQ(text.out, prompt.out);
    EXPECT_EQ(attnscope({"sample", "--preset", "stories", "--prompt", "a", "--text", "b"}).exit_code, 2) << "one of them";
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
    refused({"sample"}, "--model FILE, --preset NAME or --document FILE.json");
    refused({"sample", "--prompt", "Lily"}, "--model FILE, --preset NAME or --document FILE.json");
    refused({"sample", "--document", folder_->path("none.json")}, "none.json: cannot be opened");
    refused({"sample", "--preset", "gpt-tiny", "--prompt", "a"}, "random weights");
    refused({"sample", "--preset", "stories", "--model", model, "--prompt", "a"}, "--model, --preset and --document each name a model");
    refused({"sample", "--model", model}, "--prompt");
    refused({"sample", "--model", folder_->path("nothing"), "--prompt", "a"}, "nothing");
    refused({"sample", "--model", folder_->path("abcd.txt"), "--prompt", "a"}, "abcd.txt");
    refused({"sample", "--model", model, "--prompt", ""}, "--prompt");
    refused({"sample", "--model", model, "--prompt", "axb"}, "x");
    for (const char* temperature : {"-1", "nan", "inf", "hot", ""})
        refused({"sample", "--model", model, "--prompt", "a", "--temperature", temperature}, "temperature");
    for (const char* k : {"-1", "1.5", "x"}) refused({"sample", "--model", model, "--prompt", "a", "--top-k", k}, "top-k");
    for (const char* p : {"0", "-1", "1.01", "nan", "x"}) refused({"sample", "--model", model, "--prompt", "a", "--top-p", p}, "top-p");
    for (const char* p : {"-0.1", "1.01", "nan", "x"}) refused({"sample", "--model", model, "--prompt", "a", "--min-p", p}, "min-p");
    for (const char* tokens : {"-1", "1.5", "99999999999"})
        refused({"sample", "--model", model, "--prompt", "a", "--tokens", tokens}, "tokens");
}

/// Trains a model of the task for a few steps; its answers may be right or wrong.
Outcome train_a_little(const ScratchFolder& folder, const char* task) {
    return attnscope({"train", "--task", task, "--steps", "3", "--threads", "1", "--set", "d_model=16", "--set", "d_ff=16", "--set",
                      "batch_size=4", "--set", "evaluate_every=10", "--out", folder.path(task)});
}

TEST(SampleOfTranslation, AnswersTheSourceUpToItsEnd) {
    const ScratchFolder folder;
    ASSERT_EQ(train_a_little(folder, "translate").exit_code, 0);
    const auto sample = [&](const Arguments& more) {
        Arguments arguments{"sample", "--model", folder.path("translate")};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return attnscope(arguments);
    };
    const Arguments asked{"--source", "the small cat sees a red fox .", "--temperature", "3", "--tokens", "2000"};
    const Outcome plain = sample(asked);
    ASSERT_EQ(plain.exit_code, 0) << plain.err;
    EXPECT_EQ(plain.out, sample(asked).out);
    EXPECT_TRUE(plain.out.ends_with(" .\n") || plain.out == ".\n") << plain.out;
    EXPECT_EQ(std::count(plain.out.begin(), plain.out.end(), '.'), 1) << "what the source ends with ends the answer";
    Arguments with_json = asked;
    with_json.push_back("--json");
    const json line = json::parse(sample(with_json).out);
    EXPECT_EQ(line.at("source"), "the small cat sees a red fox .");
    EXPECT_EQ(line.at("prompt"), ">");
    EXPECT_EQ(line.at("text").get<std::string>() + "\n", plain.out);
    const Arguments begun{"--source", "the small cat sees a red fox .", "--prompt", "> le mira", "--temperature", "0", "--tokens", "3"};
    EXPECT_EQ(sample(begun).exit_code, 0);
    const Outcome nothing = sample({"--prompt", ">"}), unknown = sample({"--source", "the zebra ."});
    EXPECT_EQ(nothing.exit_code, 2);
    EXPECT_THAT(nothing.err, HasSubstr("--source"));
    EXPECT_EQ(unknown.exit_code, 2);
    EXPECT_THAT(unknown.err, HasSubstr("zebra"));
}

TEST(SampleOfHiddenWords, FillsInEveryBlankAndNothingElse) {
    const ScratchFolder folder;
    ASSERT_EQ(train_a_little(folder, "fill-in").exit_code, 0);
    const auto sample = [&](const Arguments& more) {
        Arguments arguments{"sample", "--model", folder.path("fill-in"), "--temperature", "0"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return attnscope(arguments);
    };
    const Outcome plain = sample({"--prompt", "Lily and _ are in the _ ."});
    ASSERT_EQ(plain.exit_code, 0) << plain.err;
    EXPECT_TRUE(plain.out.starts_with("Lily and ")) << plain.out;
    EXPECT_THAT(plain.out, HasSubstr(" are in the "));
    EXPECT_EQ(plain.out.find('_'), std::string::npos);
    EXPECT_EQ(std::count(plain.out.begin(), plain.out.end(), ' '), 7);
    const json line = json::parse(sample({"--prompt", "Lily and _ are in the _ .", "--json"}).out);
    EXPECT_EQ(line.at("text").get<std::string>() + "\n", plain.out);
    ASSERT_EQ(line.at("tokens").size(), 8U);
    std::istringstream words(plain.out);
    for (std::size_t at = 0; at < 8; ++at) {
        const json& token = line["tokens"][at];
        std::string word;
        words >> word;
        EXPECT_EQ(token["text"], word) << at;
        const bool filled = at == 2 || at == 6;
        ASSERT_EQ(token.contains("probability"), filled) << at;
        if (!filled) continue;
        EXPECT_EQ(token["candidates"][0]["probability"], token["probability"]) << "at temperature 0 the likeliest one is taken";
        EXPECT_EQ(token["candidates"][0]["id"], token["id"]);
    }
    for (const Arguments& wrong : {Arguments{"--prompt", "Lily and Tom"}, Arguments{"--prompt", "_", "--source", "Lily"}, Arguments{}}) {
        const Outcome outcome = sample(wrong);
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_EQ(outcome.out, "");
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    }
}

/// A run has a config.json too, but must not be taken for a published model without a tokenizer when it is damaged.
TEST_F(SampleCommand, RefusesADamagedRun) {
    const ScratchFolder damaged;
    std::filesystem::copy(folder_->path("run"), damaged.path("run"), std::filesystem::copy_options::recursive);
    const auto attempt = [&](const std::string& path) {
        return attnscope({"sample", "--model", damaged.path(path), "--prompt", "1 2", "--tokens", "2"});
    };
    std::string bytes = read_bytes(damaged.path("run/model.safetensors"));
    bytes.at(bytes.size() - 3) ^= 1;
    damaged.file("run/model.safetensors", bytes);
    for (const char* path : {"run", "run/model.safetensors"}) {
        const Outcome outcome = attempt(path);
        EXPECT_EQ(outcome.exit_code, 2) << path;
        EXPECT_EQ(outcome.out, "") << path;
        EXPECT_NE(outcome.err.find("its checksum does not match its contents"), std::string::npos) << outcome.err;
    }
}

/// Combines a golden model and a golden tokenizer to a folder that can be opened.
void put_model(const ScratchFolder& folder, const std::string& model, const std::string& tokenizer) {
    const std::filesystem::path golden = std::filesystem::path(ATTN_TEST_DATA) / "golden/hf";
    for (const char* file : {"config.json", "model.safetensors"})
        std::filesystem::copy_file(golden / model / file, std::filesystem::path(folder.path(file)));
    std::filesystem::copy_file(golden / "tokenizers" / tokenizer / "tokenizer.json", std::filesystem::path(folder.path("tokenizer.json")));
}

TEST(SampleOfAPublishedModel, AnswersWhatItsEncoderReads) {
    const ScratchFolder folder;
    put_model(folder, "t5", "t5");
    const auto sample = [&](const std::string& source) {
        return attnscope({"sample", "--model", folder.path("."), "--source", source, "--tokens", "8", "--temperature", "0", "--json"});
    };
    const Outcome one = sample("the cat sat on the mat"), again = sample("the cat sat on the mat"), other = sample("who has the ball");
    ASSERT_EQ(one.exit_code, 0) << one.err;
    EXPECT_LE(json::parse(one.out).at("tokens").size(), 8U);
    EXPECT_GE(json::parse(one.out).at("tokens").size(), 1U);
    EXPECT_EQ(one.out, again.out);
    EXPECT_NE(json::parse(one.out).at("text"), json::parse(other.out).at("text"));
}

/// T5's decoder drops the space that its pieces have before every word.
TEST(SampleOfAPublishedModel, AnAnswerBeginsWithoutASpace) {
    const ScratchFolder folder;
    put_model(folder, "t5", "t5");
    std::size_t spaced = 0;
    for (int seed = 1; seed <= 24; ++seed) {
        const std::vector<std::string> asked{"sample",   "--model", folder.path("."), "--source", "the cat", "--ignore-end",
                                             "--tokens", "4",       "--temperature",  "4",        "--seed",  std::to_string(seed)};
        std::vector<std::string> with_json = asked;
        with_json.push_back("--json");
        const json line = json::parse(attnscope(with_json).out);
        std::string pieces;
        for (const json& token : line.at("tokens")) pieces += token.at("text").get<std::string>();
        const std::size_t space = pieces.starts_with(' ') ? 1 : 0;
        spaced += space;
        EXPECT_EQ(line.at("text"), pieces.substr(space));
        EXPECT_EQ(attnscope(asked).out, pieces.substr(space) + "\n");
    }
    EXPECT_GT(spaced, 0U);
}

/// Not being a terminal, the plain output has every byte.
TEST(SampleOfAPublishedModel, GivesTheBytesOfPartsOfCharacters) {
    const ScratchFolder folder;
    put_model(folder, "gpt2", "gpt2");
    const std::vector<std::string> asked{"sample", "--model", folder.path("."), "--prompt", "The", "--tokens", "30", "--temperature", "4"};
    std::vector<std::string> with_json = asked;
    with_json.push_back("--json");
    const json line = json::parse(attnscope(with_json).out);
    std::string joined = "The";
    int parts = 0;
    for (const json& token : line.at("tokens")) {
        const std::string text = token.at("text");
        EXPECT_EQ(token.contains("bytes"), text.find("\uFFFD") != std::string::npos) << token;
        if (!token.contains("bytes")) joined += text;
        else
            for (const json& byte : token.at("bytes")) joined += static_cast<char>(byte.get<int>());
        parts += token.contains("bytes") ? 1 : 0;
    }
    EXPECT_GT(parts, 0);
    EXPECT_EQ(attnscope(asked).out, joined + "\n");
}

TEST(SampleOfAPublishedModel, FillsInWhatItsMaskHides) {
    const ScratchFolder folder;
    put_model(folder, "bert", "bert_uncased");
    const auto sample = [&](const std::string& prompt) {
        return attnscope({"sample", "--model", folder.path("."), "--prompt", prompt, "--temperature", "0"});
    };
    const Outcome filled = sample("the [MASK] sat");
    ASSERT_EQ(filled.exit_code, 0) << filled.err;
    EXPECT_TRUE(filled.out.starts_with("the")) << filled.out;
    EXPECT_THAT(filled.out, HasSubstr("sat"));
    EXPECT_EQ(filled.out.find("MASK"), std::string::npos) << filled.out;
    const Outcome whole = sample("the cat sat");
    EXPECT_EQ(whole.exit_code, 2);
    EXPECT_THAT(whole.err, HasSubstr("expected a [MASK] where one is hidden"));
}

TEST(SampleOfAPublishedModel, StopsAtItsEndAndGoesOnWhenToldTo) {
    const ScratchFolder folder;
    put_model(folder, "gpt2", "gpt2");
    const auto sample = [&](const Arguments& more) {
        Arguments arguments{"sample",        "--model", folder.path("."), "--prompt", "the cat", "--tokens", "12",
                            "--temperature", "1.5",     "--seed",         "4"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return attnscope(arguments);
    };
    const json all = json::parse(sample({"--json"}).out);
    ASSERT_EQ(all.at("tokens").size(), 12U);
    EXPECT_EQ(all.at("ended"), false);
    // From now on the fourth token ends a text.
    const std::int64_t end = all.at("tokens")[3].at("id");
    std::ofstream(folder.path("generation_config.json")) << json{{"eos_token_id", {1, end}}}.dump();
    std::size_t first = 0;
    while (all.at("tokens")[first].at("id") != end && all.at("tokens")[first].at("id") != 1) ++first;
    const Outcome stopped = sample({}), stopped_json = sample({"--json"});
    const json line = json::parse(stopped_json.out);
    EXPECT_EQ(line.at("ended"), true);
    ASSERT_EQ(line.at("tokens").size(), first + 1);
    std::string text;
    for (std::size_t i = 0; i <= first; ++i) {
        EXPECT_EQ(line.at("tokens")[i], all.at("tokens")[i]);
        if (i < first) text += all.at("tokens")[i].at("text").get<std::string>();
    }
    EXPECT_EQ(line.at("text"), text) << "the end token is no part of the text";
    EXPECT_EQ(stopped_json.err, "") << "the line says it";
    EXPECT_THAT(stopped.err, HasSubstr("ended its text after " + std::to_string(first + 1) + " token"));
    EXPECT_EQ(std::count(stopped.err.begin(), stopped.err.end(), '\n'), 1);
    const Outcome on = sample({"--ignore-end"});
    EXPECT_EQ(on.err, "");
    EXPECT_EQ(json::parse(sample({"--ignore-end", "--json"}).out).at("tokens"), all.at("tokens"));
}

/// Nothing is said of numbers that another program wrote there.
TEST(SampleOfAPublishedModel, NamesTheFileThatWasOverwritten) {
    const ScratchFolder folder;
    const std::filesystem::path golden = std::filesystem::path(ATTN_TEST_DATA) / "golden/hf/gpt2";
    const std::string weights = folder.path("model.safetensors");
    std::filesystem::copy(golden, folder.path("."));
    const auto overwrite = [&] {
        std::fstream file(weights, std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(weights) / 2));
        file << std::string(std::filesystem::file_size(weights) / 2, '\xFF');
    };
    for (int i = 0; i < 3; ++i) {
        std::filesystem::copy_file(golden / "model.safetensors", weights, std::filesystem::copy_options::overwrite_existing);
        const Outcome outcome = attnscope({"sample", "--model", folder.path("."), "--prompt", "the", "--tokens", "100000", "--ignore-end"},
                                          std::chrono::seconds(120), {{0, 0, std::chrono::milliseconds(0), overwrite}});
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_THAT(outcome.err, HasSubstr("model.safetensors: was changed")) << outcome.err;
    }
}

TEST(SampleOfAPublishedModel, TellsThePairOfATextApartAsTheWindowDoes) {
    const ScratchFolder folder;
    put_model(folder, "bert", "bert_uncased");
    // The likeliest word according to the trace, in which the text after the separator is the second one.
    const std::string text = "the cat [SEP] a [MASK] sat on the mat";
    ASSERT_EQ(attnscope({"export", "--model", folder.path("."), "--text", text, "--stage", "probabilities", "--out", folder.path("p.csv")})
                  .exit_code,
              0);
    const Outcome filled = attnscope({"sample", "--model", folder.path("."), "--prompt", text, "--temperature", "0", "--json"});
    ASSERT_EQ(filled.exit_code, 0) << filled.err;
    const json tokens = json::parse(filled.out).at("tokens");
    std::ifstream numbers(folder.path("p.csv"));
    std::vector<std::vector<double>> rows;
    for (std::string row; std::getline(numbers, row);) {
        if (row.empty() || row.front() == '#') continue;
        std::vector<double>& values = rows.emplace_back();
        std::istringstream cells(row);
        for (std::string cell; std::getline(cells, cell, ',');) values.push_back(std::strtod(cell.c_str(), nullptr));
    }
    const Outcome cut = attnscope({"tokenize", "--model", folder.path("."), "--text", text, "--json"});
    const json ids = json::parse(cut.out).at("ids");
    ASSERT_EQ(ids.size(), tokens.size());
    std::size_t hidden = 0;
    while (hidden < ids.size() && ids[hidden] == tokens[hidden].at("id")) ++hidden;
    ASSERT_LT(hidden, ids.size());
    ASSERT_GE(rows.size(), ids.size());
    const std::vector<double>& row = rows[rows.size() - ids.size() + hidden];
    ASSERT_GE(row.size(), 340U);
    const auto likeliest = std::max_element(row.end() - 340, row.end()) - (row.end() - 340);
    EXPECT_EQ(tokens[hidden].at("id"), likeliest);
}

}  // namespace
}  // namespace attn::test
