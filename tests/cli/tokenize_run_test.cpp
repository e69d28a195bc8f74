/// attnscope tokenize with the tokenizers of our own models.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/io/safetensors.hpp"
#include "engine/io/utf8.hpp"
#include "engine/train/checkpoint.hpp"
#include "tests/cli/command_lines.hpp"
#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// A short run on a text, with these options.
std::string train_on_text(const ScratchFolder& folder, const std::vector<std::string>& options) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "The sea was calm on day " + std::to_string(i * i) + ", and the caf\u00E9 was open. ";
    std::vector<std::string> command{"train", "--text-file",     folder.file("text.txt", text), "--steps", "1", "--set", "task.length=32",
                                     "--out", folder.path("run")};
    command.insert(command.end(), options.begin(), options.end());
    const Outcome outcome = attnscope(command);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return folder.path("run");
}

/// The ids that the model of a run reads for a text.
std::vector<std::int32_t> ids_of_model(const ScratchFolder& folder, const std::string& run, const std::string& text) {
    const std::string trace = folder.path("trace.safetensors");
    const Outcome outcome = attnscope({"trace", "--run", run, "--text", text, "--out", trace});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::vector<std::int32_t> ids;
    const ArrayFile file = read_safetensors(trace);
    for (const double id : values_as<double>(file.at("tokens"), "tokens")) ids.push_back(static_cast<std::int32_t>(id));
    return ids;
}

/// Where each token is, in code points, if the tokens follow each other from the text's first byte on; a part of a character covers it all.
json offsets_of(const std::string& text, const std::vector<std::string>& tokens) {
    std::vector<std::size_t> character;  // of every byte
    for (std::size_t at = 0, count = 0; at < text.size(); ++count) {
        const std::size_t bytes = first_utf8(std::string_view(text).substr(at)).bytes;
        character.insert(character.end(), bytes, count);
        at += bytes;
    }
    json offsets = json::array();
    std::size_t at = 0;
    for (const std::string& token : tokens) {
        offsets.push_back({character.at(at), character.at(at + token.size() - 1) + 1});
        at += token.size();
    }
    EXPECT_EQ(at, text.size());
    return offsets;
}

class TokenizeRun : public testing::TestWithParam<std::vector<std::string>> {};
INSTANTIATE_TEST_SUITE_P(Tokenizers, TokenizeRun,
                         testing::Values(std::vector<std::string>{}, std::vector<std::string>{"--tokenizer", "bpe", "--vocab", "262"}),
                         [](const auto& tested) { return tested.param.empty() ? "characters" : "pieces"; });

TEST_P(TokenizeRun, GivesTheIdsThatTheModelReads) {
    const ScratchFolder folder;
    const std::string run = train_on_text(folder, GetParam()), text = "a caf\u00E9 was calm";
    const std::vector<std::string> vocabulary = read_checkpoint(run + "/model.safetensors").vocabulary;
    const std::vector<std::int32_t> ids = ids_of_model(folder, run, text);
    std::vector<std::string> tokens;
    for (const std::int32_t id : ids) tokens.push_back(vocabulary.at(static_cast<std::size_t>(id)));
    ASSERT_GT(ids.size(), 5U);
    if (!GetParam().empty()) {
        ASSERT_THAT(tokens, testing::Contains("\xC3")) << "half a character";
    }
    for (const std::string& path : {run, run + "/model.safetensors", run + "/moments/step-0.safetensors"}) {
        const Outcome outcome = attnscope({"tokenize", "--run", path, "--text", text, "--json"});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(outcome.err, "");
        const json line = json::parse(outcome.out);
        EXPECT_EQ(line.at("ids"), json(ids)) << path;
        EXPECT_EQ(line.at("offsets"), offsets_of(text, tokens)) << path;
        EXPECT_EQ(line.at("tokens").size(), ids.size());
    }
}

TEST(TokenizeCommand, ShowsTheJoinsOfATrainedTokenizer) {
    const ScratchFolder folder;
    const std::string run = train_on_text(folder, {"--tokenizer", "bpe", "--vocab", "300"});
    const Outcome shown = attnscope({"tokenize", "--run", run, "--text", "The sea", "--steps"});
    ASSERT_EQ(shown.exit_code, 0) << shown.err;
    // The merges are the tokens behind the 256 bytes, so the last join of a word gives a token whose rank follows from its id.
    const json line = json::parse(attnscope({"tokenize", "--run", run, "--text", "The sea", "--steps", "--json"}).out);
    const std::vector<std::string> vocabulary = read_checkpoint(run + "/model.safetensors").vocabulary;
    std::size_t joins = 0;
    for (const json& word : line.at("words"))
        for (const json& join : word.at("joins")) {
            ++joins;
            EXPECT_EQ(join.at("id").get<std::int64_t>(), 256 + join.at("rank").get<std::int64_t>());
            EXPECT_THAT(shown.out, HasSubstr("rank " + std::to_string(join.at("rank").get<std::int64_t>())));
        }
    EXPECT_GT(joins, 3U);
}

TEST(TokenizeCommand, TakesATrainedExample) {
    const Outcome outcome = attnscope({"tokenize", "--preset", "stories", "--text", "Lily and Tom are in the park .", "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const json line = json::parse(outcome.out);
    EXPECT_EQ(line.at("tokens"), json({"Lily", "and", "Tom", "are", "in", "the", "park", "."}));
    EXPECT_EQ(line.at("offsets"), json({{0, 4}, {5, 8}, {9, 12}, {13, 16}, {17, 19}, {20, 23}, {24, 28}, {29, 30}}));
    // The ids are those that the model reads; sample names the id of everything it writes.
    const Outcome sampled = attnscope(
        {"sample", "--preset", "stories", "--prompt", "Lily and Tom are in the", "--tokens", "8", "--temperature", "0", "--json"});
    std::string text;
    json ids = json::array();
    const json written = json::parse(sampled.out);
    for (const json& token : written.at("tokens")) {
        text += (text.empty() ? "" : " ") + token.at("text").get<std::string>();
        ids.push_back(token.at("id"));
    }
    EXPECT_EQ(json::parse(attnscope({"tokenize", "--preset", "stories", "--text", text, "--json"}).out).at("ids"), ids) << text;
}

TEST(TokenizeCommand, ComparesARunWithAModel) {
    const ScratchFolder folder;
    const std::string run = train_on_text(folder, {"--tokenizer", "bpe", "--vocab", "300"});
    const std::string model = std::string(ATTN_TEST_DATA) + "/golden/hf/tokenizers/gpt2";
    const Outcome shown = attnscope({"tokenize", "--run", run, "--model", model, "--text", "The sea was calm"});
    ASSERT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_THAT(shown.out, HasSubstr("first difference: "));
    const std::vector<std::string> lines = lines_of(shown.out);
    EXPECT_THAT(lines.at(1), HasSubstr("gpt2 "));
    EXPECT_THAT(lines.at(2), HasSubstr("run "));
    EXPECT_THAT(attnscope({"tokenize", "--run", run, "--run", run + "/moments/step-0.safetensors", "--text", "The sea"}).out,
                HasSubstr("both split it the same way"));
}

TEST(TokenizeCommand, RefusesOwnModelsInOneLine) {
    const ScratchFolder folder;
    const std::string run = train_on_text(folder, {}), model = std::string(ATTN_TEST_DATA) + "/golden/hf/gpt2";
    const auto refused = [](const std::vector<std::string>& options, const std::string& words) {
        std::vector<std::string> command{"tokenize", "--text", "The \u03B1"};
        command.insert(command.end(), options.begin(), options.end());
        const Outcome outcome = attnscope(command);
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_EQ(outcome.out, "");
        EXPECT_THAT(outcome.err, HasSubstr(words));
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
    };
    refused({}, "say which tokenizer to use: --model DIR, --run DIR or --preset NAME");
    refused({"--run", run, "--model", model, "--preset", "stories"}, "expected one tokenizer, or two to compare, found 3");
    refused({"--run", run, "--model", model, "--steps"}, "--steps works with one tokenizer");
    refused({"--run", run, "--steps"}, run + ": its tokens are characters, found in one step");
    refused({"--run", run}, run + ": \"\u03B1\" (byte 4 of the text) is not in the vocabulary");
    refused({"--run", folder.path("")}, "it has no model.safetensors: this is not the folder of a training run");
    refused({"--run", folder.path("none")}, "none: cannot be opened");
    refused({"--run", model}, "gpt2: has no vocabulary: it was not trained by attnscope");
    refused({"--preset", "gpt-tiny"}, "the example gpt-tiny has random weights");
    refused({"--preset", "nonsense"}, "nonsense");
}

}  // namespace
}  // namespace attn::test
