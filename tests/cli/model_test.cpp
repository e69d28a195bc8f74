/// attnscope model, tokenize and check on folders in Hugging Face's layout.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/families/model_folder.hpp"
#include "engine/generate/generate.hpp"
#include "engine/io/safetensors.hpp"
#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kFolders = std::string(ATTN_TEST_DATA) + "/golden/hf/";

TEST(ModelCommand, ListsEveryTensor) {
    const Outcome outcome = attnscope({"model", kFolders + "gpt2"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    for (const char* text : {"GPT-2 (GPT2LMHeadModel)", "2 layers, width 48, 4 heads of 12, feed-forward 96, context 64, vocabulary 366",
                             "58656 parameters, F32", "tokenizer: BPE, 366 ids, 1 added token\n", "28 tensors, 0 not used",
                             "token_embedding.weight, and the output head",
                             "layers.1.attention.q.weight, layers.1.attention.k.weight, layers.1.attention.v.weight"})
        EXPECT_THAT(outcome.out, HasSubstr(text));
}

TEST(ModelCommand, NamesOptionsOfOtherFamilies) {
    const ScratchFolder folder;
    const std::filesystem::path model = folder.path("model");
    std::filesystem::copy(kFolders + "gpt2", model);
    const auto with_options = [&](const json& options) {
        json config = json::parse(read_bytes(kFolders + "gpt2/config.json"));
        config.update(options);
        std::ofstream(model / "config.json") << config.dump();
        return attnscope({"model", model}).out;
    };
    const std::string set = with_options({{"num_local_experts", 8}, {"clip_qkv", 6.5}, {"auto_map", {{"AutoModel", "own.Model"}}}});
    EXPECT_THAT(set, HasSubstr("config.json sets clip_qkv, num_local_experts, which other families compute with and GPT-2 does not"));
    EXPECT_THAT(set, HasSubstr("code of its own (auto_map), which is not run"));
    const std::string off = with_options({{"num_local_experts", 1}, {"clip_qkv", nullptr}, {"residual_multiplier", 1.0}});
    EXPECT_EQ(off.find("other families"), std::string::npos) << off;
    EXPECT_EQ(off.find("auto_map), which"), std::string::npos) << off;
}

TEST(ModelCommand, SaysWhatAModelHasAndWhatEveryTensorIsFor) {
    const auto says = [](const std::string& model, const std::vector<std::string>& texts) {
        const Outcome outcome = attnscope({"model", model});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        for (const std::string& text : texts) EXPECT_THAT(outcome.out, HasSubstr(text));
    };
    const std::string gguf = std::string(ATTN_TEST_DATA) + "/golden/gguf/";
    says(kFolders + "gpt2", {"writing ends with <|endoftext|> (365)\n"});
    says(kFolders + "llama", {"6 heads of 8, 2 of keys and values, ", "in 3 files\n", "writing ends with id 2\n",
                              "The folder has no readable tokenizer", "  lm_head.weight (transposed)\n"});
    says(kFolders + "t5", {"  2 + 1 layers, "});
    says(kFolders + "bart", {"feed-forward 68 and 76, "});
    says(kFolders + "gpt_neox", {"  layers.0.attention.q.weight (transposed, in another order), "});
    says(kFolders + "bert_hub",
         {"5 not used\n", "[1, 64]    not used: can be computed\n", "not used: nothing shown is computed with it\n"});
    says(gguf + "llama3.gguf", {"  1 layer, ", " in 1 file\n", "not recorded in the file, so assumed: feed-forward activation SiLU\n",
                                " 0 not used\n", "a setting: what rotary frequencies are divided by\n"});
}

TEST(ModelCommand, NamesABlockWithoutAScale) {
    const std::string golden = std::string(ATTN_TEST_DATA) + "/golden/gguf/llama_q8_0.gguf";
    EXPECT_EQ(attnscope({"model", golden}).exit_code, 0);
    const ModelFolder model = open_model_folder(golden);
    const auto packed = std::find_if(model.tensors.begin(), model.tensors.end(),
                                     [](const TensorUse& use) { return use.tensor->blocks.has_value() && !use.parameters.empty(); });
    ASSERT_NE(packed, model.tensors.end());
    const ArrayView& array = packed->tensor->array;
    std::string bytes = read_bytes(golden);
    const std::size_t start = bytes.find(std::string(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size()));
    ASSERT_NE(start, std::string::npos);
    bytes.replace(start + 2 * 34, 2, std::string("\x01\x7E", 2));  // NaN as the scale of a Q8_0 block
    const ScratchFolder folder;
    const Outcome outcome = attnscope({"model", folder.file("damaged.gguf", bytes)});
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, HasSubstr(" tensors, ")) << "the list comes first";
    EXPECT_THAT(outcome.err, HasSubstr(array.name + ": block 2, with the numbers 64 to 95, has a scale that is not finite\n"));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST(ModelCommand, NamesSettingsThatHaveNoEffect) {
    const ScratchFolder folder;
    for (const char* file : {"model.safetensors", "tokenizer.json"}) std::filesystem::copy(kFolders + "gpt2/" + file, folder.path(file));
    json config = json::parse(read_bytes(kFolders + "gpt2/config.json"));
    config["attn_logit_softcapping"] = 50;
    folder.file("config.json", config.dump());
    const std::string shown = attnscope({"model", folder.path("")}).out;
    const std::size_t begin = shown.find("  settings in config.json without effect here: ");
    ASSERT_NE(begin, std::string::npos) << shown;
    const std::string line = shown.substr(begin, shown.find('\n', begin) - begin);
    EXPECT_THAT(line, HasSubstr("attn_logit_softcapping"));
    for (const char* used : {"n_head", "layer_norm_epsilon", "model_type"}) EXPECT_EQ(line.find(used), std::string::npos) << line;
}

TEST(ModelCommand, SaysWhichOfTwoFamiliesAModelIsReadAs) {
    const ScratchFolder folder;
    for (const char* file : {"model.safetensors", "tokenizer.json"}) std::filesystem::copy(kFolders + "gpt2/" + file, folder.path(file));
    json config = json::parse(read_bytes(kFolders + "gpt2/config.json"));
    for (const char* name :
         {"LlamaForCausalLM", "GPTNeoForCausalLM", "GPT2LMHeadModel", "GPT2ForSequenceClassification", "RWForCausalLM", "MyOwnModel"}) {
        config["architectures"] = {name};
        folder.file("config.json", config.dump());
        const bool is_other = std::string_view(name).starts_with("Llama") || std::string_view(name).starts_with("GPTNeo");
        const std::string note = std::string("\"architectures\" names ") + name + ", but the model is read as \"model_type\" says: gpt2.";
        EXPECT_EQ(attnscope({"model", folder.path("")}).out.find(note) != std::string::npos, is_other) << name;
    }
}

/// A copy of a model with an additional tensor.
TEST(ModelCommand, NamesTensorsThatItCannotPlace) {
    const ScratchFolder folder;
    std::filesystem::copy(kFolders + "gpt2/config.json", folder.path("config.json"));
    ArrayFile weights = read_safetensors(kFolders + "gpt2/model.safetensors");
    for (const char* name : {"lm_head.weight", "adapter.weight"}) {
        weights.arrays.push_back(weights.arrays.front());
        for (const NamedArray& array : weights.arrays)
            if (array.name == "transformer.wte.weight") weights.arrays.back() = array;
        weights.arrays.back().name = name;
    }
    write_safetensors(folder.path("model.safetensors"), weights);
    const Outcome outcome = attnscope({"model", folder.path("")});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("30 tensors, 2 not used"));
    EXPECT_THAT(outcome.out, HasSubstr("not used: tied to the token embedding\n"));
    EXPECT_THAT(outcome.out, HasSubstr("not used: not a parameter of this family\n"));
}

TEST(ModelCommand, TakesAFileOfTheFolderForTheFolder) {
    const Outcome folder = attnscope({"model", kFolders + "llama"});
    ASSERT_EQ(folder.exit_code, 0) << folder.err;
    const auto behind_name = [](const Outcome& outcome) {
        return outcome.out.substr(std::min(outcome.out.find(": Llama"), outcome.out.size()));
    };
    for (const char* file : {"config.json", "model.safetensors.index.json", "model-00001-of-00003.safetensors"})
        EXPECT_EQ(behind_name(attnscope({"model", kFolders + "llama/" + file})), behind_name(folder)) << file;
    EXPECT_THAT(behind_name(folder), HasSubstr("lm_head.weight"));
}

TEST(ModelCommand, NamesWhatGitLeftInPlaceOfTheWeights) {
    const ScratchFolder folder;
    std::filesystem::copy(kFolders + "gpt2/config.json", folder.path("config.json"));
    folder.file("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:0a1b2c\nsize 123456789\n");
    const Outcome outcome = attnscope({"model", folder.path("")});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("model.safetensors: is only a Git LFS pointer: fetch the file itself with git lfs pull"));
}

TEST(ModelCommand, RefusesWhatIsNoModel) {
    const ScratchFolder folder;
    const Outcome nothing = attnscope({"model", folder.path("none")});
    EXPECT_EQ(nothing.exit_code, 2);
    EXPECT_THAT(nothing.err, HasSubstr("config.json: cannot be opened"));
    std::ifstream stream(kFolders + "gpt2/config.json");
    json config = json::parse(stream);
    config["add_cross_attention"] = true;
    std::ofstream(folder.path("config.json")) << config.dump();
    const Outcome option = attnscope({"model", folder.path("")});
    EXPECT_EQ(option.exit_code, 2);
    EXPECT_THAT(option.err, HasSubstr("/add_cross_attention: is true, which would need cross-attention in a decoder-only model"));
}

TEST(TokenizeCommand, ReadsItsListFromAFileAPipeAndStandardInput) {
    const ScratchFolder folder;
    const std::string list = folder.file("list.json", R"(["The cat", "sat"])");
    const std::string tokenize = "attnscope tokenize --model " + kFolders + "tokenizers/gpt2 --json --texts ";
    const Outcome whole = in_shell(tokenize + list, folder.path(""));
    EXPECT_EQ(std::count(whole.out.begin(), whole.out.end(), '\n'), 2) << whole.err;
    EXPECT_EQ(in_shell(tokenize + "<(cat " + list + ")", folder.path("")).out, whole.out);
    EXPECT_EQ(in_shell("cat " + list + " | " + tokenize + "-", folder.path("")).out, whole.out);
    EXPECT_THAT(in_shell("echo '{}' | " + tokenize + "-", folder.path("")).err, HasSubstr("standard input, /: expected a list of strings"));
    const Outcome endless = in_shell("yes | " + tokenize + "-", folder.path(""));
    EXPECT_THAT(endless.err, HasSubstr("standard input: holds more than"));
    EXPECT_EQ(endless.exit_code, 2);
}

TEST(TokenizeCommand, GivesIdsTokensAndRangesInCodePoints) {
    const ScratchFolder folder;
    std::ifstream stream(kFolders + "tokenizers/bert_uncased/tokens.json");
    const json golden = json::parse(stream);
    json texts = json::array(), expected = json::array();
    for (const json& entry : golden.at("cases")) {
        if (entry.contains("pair")) continue;
        texts.push_back(entry.at("text"));
        expected.push_back(entry.at("special").contains("ids") ? entry.at("special") : entry.at("plain"));
    }
    std::ofstream(folder.path("texts.json")) << texts.dump();
    const Outcome outcome =
        attnscope({"tokenize", "--model", kFolders + "tokenizers/bert_uncased", "--texts", folder.path("texts.json"), "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    std::istringstream lines(outcome.out);
    std::size_t at = 0;
    for (std::string line; std::getline(lines, line); ++at) {
        const json answer = json::parse(line);
        EXPECT_EQ(answer.at("ids"), expected.at(at).at("ids")) << texts.at(at);
        EXPECT_EQ(answer.at("offsets"), expected.at(at).at("offsets")) << texts.at(at);
        EXPECT_EQ(answer.at("tokens").size(), answer.at("ids").size());
    }
    EXPECT_EQ(at, texts.size());
}

TEST(TokenizeCommand, TakesTextsOneByOneAndLeavesTheTemplateOut) {
    const std::vector<std::string> command{"tokenize", "--model", kFolders + "tokenizers/llama3", "--text", "a", "--text", "bb", "--json"};
    const Outcome with = attnscope(command);
    std::vector<std::string> bare = command;
    bare.emplace_back("--no-special");
    const Outcome without = attnscope(bare);
    ASSERT_EQ(with.exit_code, 0) << with.err;
    EXPECT_THAT(with.out, HasSubstr("<|begin_of_text|>"));
    EXPECT_THAT(without.out, testing::Not(HasSubstr("<|begin_of_text|>")));
    EXPECT_EQ(std::count(with.out.begin(), with.out.end(), '\n'), 2);
}

TEST(TokenizeCommand, APairHasTheSegmentsOfItsTemplate) {
    for (const char* name : {"bert_uncased", "roberta", "llama3"}) {
        std::ifstream stream(kFolders + "tokenizers/" + name + "/tokens.json");
        const json golden = json::parse(stream);
        std::size_t pairs = 0;
        for (const json& entry : golden.at("cases")) {
            if (!entry.contains("pair")) continue;
            ++pairs;
            const Outcome outcome = attnscope(
                {"tokenize", "--model", kFolders + "tokenizers/" + name, "--text", entry.at("text"), "--pair", entry.at("pair"), "--json"});
            ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
            const json answer = json::parse(outcome.out);
            const json& special = entry.at("special").contains("ids") ? entry.at("special") : entry.at("plain");
            EXPECT_EQ(answer.at("ids"), special.at("ids")) << name;
            EXPECT_EQ(answer.at("offsets"), special.at("offsets")) << name;
            EXPECT_EQ(answer.at("type_ids"), entry.at("special").at("type_ids")) << name;
            json own = json::array();
            for (std::size_t i = 0; i < answer.at("ids").size(); ++i)
                if (!answer.at("sequence_ids").at(i).is_null()) own.push_back(answer.at("tokens").at(i));
            EXPECT_EQ(own, entry.at("plain").at("tokens")) << name << ": all but the template's";
        }
        EXPECT_GT(pairs, 1U);
    }
    const Outcome shown = attnscope({"tokenize", "--model", kFolders + "tokenizers/bert_uncased", "--text", "the", "--pair", "caf\u00E9"});
    EXPECT_THAT(shown.out, HasSubstr("\"the\" and \"caf\u00E9\": "));
    EXPECT_THAT(shown.out, HasSubstr("segment 0, first text, bytes 0 to 3: \"the\"\n"));
    EXPECT_THAT(shown.out, HasSubstr("segment 0, added by the template\n"));
    EXPECT_THAT(shown.out, HasSubstr("segment 1, second text, bytes 0 to "));
}

TEST(TokenizeCommand, TwoTokenizersStandSideBySide) {
    const std::string one = kFolders + "tokenizers/bert_uncased", other = kFolders + "tokenizers/qwen2";
    const Outcome shown = attnscope({"tokenize", "--model", one, "--model", other, "--text", "The caf\u00E9 \U0001F639"});
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_THAT(shown.out, HasSubstr("first difference: bytes 10 to 14"));
    EXPECT_THAT(attnscope({"tokenize", "--model", one, "--model", one, "--text", "The caf\u00E9 \U0001F639"}).out,
                HasSubstr("both split it the same way\n"));
    EXPECT_THAT(attnscope({"tokenize", "--model", kFolders + "tokenizers/llama3", "--model", other, "--text", "the"}).out,
                HasSubstr("both split it the same way, but " + kFolders + "tokenizers/llama3 adds 1 more of its own\n"));
    EXPECT_THAT(attnscope({"tokenize", "--model", one, "--model", other, "--text", "The", "--no-special"}).out,
                HasSubstr("both split it at the same places, where 1 of 1 tokens are spelled differently\n"));
    const Outcome line = attnscope({"tokenize", "--model", one, "--model", other, "--text", "The caf\u00E9 \U0001F639", "--json"});
    for (const char* key : {"\"a\":", "\"b\":", "\"first_difference\":"}) EXPECT_THAT(line.out, HasSubstr(key));
    EXPECT_EQ(attnscope({"tokenize", "--model", one, "--model", one, "--model", one, "--text", "a"}).exit_code, 2);
    EXPECT_EQ(attnscope({"tokenize", "--model", one, "--model", one, "--text", "a", "--steps"}).exit_code, 2);
}

/// In Hugging Face's cache, every command that takes a model accepts its folder.
TEST(ModelCommand, OpensWhatLiesInTheCache) {
    const ScratchFolder folder;
    const std::filesystem::path entry = folder.path("models--some--tiny"), snapshot = entry / "snapshots/abc";
    std::filesystem::create_directories(snapshot);
    for (const auto& file : std::filesystem::directory_iterator(kFolders + "gpt2"))
        std::filesystem::create_symlink(file.path(), snapshot / file.path().filename());
    for (const std::string& path : {entry.string(), entry.string() + "/", (entry / "snapshots").string()}) {
        EXPECT_THAT(attnscope({"model", path}).out, HasSubstr("28 tensors, 0 not used"));
        EXPECT_THAT(attnscope({"tokenize", "--model", path, "--text", "The cat"}).out, HasSubstr("\"The cat\": "));
        EXPECT_EQ(attnscope({"trace", "--model", path, "--text", "The cat", "--out", folder.path("trace.safetensors")}).exit_code, 0);
        EXPECT_EQ(attnscope({"sample", "--model", path, "--prompt", "The cat", "--tokens", "2"}).exit_code, 0);
    }
    std::filesystem::remove_all(snapshot);
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"model", entry},
                                               {"tokenize", "--model", entry, "--text", "a"},
                                               {"sample", "--model", entry, "--prompt", "a"},
                                               {"trace", "--model", entry, "--out", folder.path("x.safetensors")}}) {
        const Outcome refused = attnscope(command);
        EXPECT_EQ(refused.exit_code, 2);
        EXPECT_THAT(refused.err, HasSubstr("this folder of Hugging Face's cache has no snapshot"));
    }
}

TEST(TokenizeCommand, RefusesInOneLine) {
    const ScratchFolder folder;
    std::ofstream(folder.path("numbers.json")) << "[\"a\", 1]";
    const std::string model = kFolders + "gpt2";
    const auto refused = [](const std::vector<std::string>& arguments, const std::string& words) {
        const Outcome outcome = attnscope(arguments);
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_THAT(outcome.err, HasSubstr(words));
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
    };
    refused({"tokenize", "--model", model}, "expected a text");
    refused({"tokenize", "--model", model, "--pair", "a"}, "expected a text");
    refused({"tokenize", "--model", model, "--text", "a", "--text", "b", "--pair", "c"}, "--pair is the second text of a pair");
    refused({"tokenize", "--model", model, "--model", model, "--text", "a", "--pair", "c"}, "with one tokenizer");
    refused({"tokenize", "--model", model, "--text", "a", "--pair", "c", "--steps"}, "without --steps");
    refused({"tokenize", "--preset", "stories", "--text", "Tom", "--pair", "Lily"}, "its tokens are words, which have no pairs");
    refused({"tokenize", "--model", model, "--texts", folder.path("numbers.json")}, "/1: expected a list of strings");
    refused({"tokenize", "--model", folder.path(""), "--text", "a"}, "has no tokenizer: expected tokenizer.json");
    refused({"tokenize", "--model", folder.path("none.gguf"), "--text", "a"}, "cannot be opened");
    const auto hostile = [&](const std::string& name, const std::string& bytes, const std::string& words) {
        std::ofstream(folder.path(name), std::ios::binary) << bytes;
        refused({"tokenize", "--model", folder.path(name), "--text", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"}, words);
    };
    hostile("tokenizer.json", std::string(100'000, '['), "nested");
    hostile("tokenizer.json",
            R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
                "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a|aa)+$"}, "behavior": "Isolated"}})",
            folder.path("tokenizer.json") +
                ": the tokenizer's regular expressions take too long on this text and were stopped at \"(a|aa)+$\"");
    hostile("a.model", "\x0A\xFF\xFF\xFF\x7F", "field 1 declares 268435455 bytes, but only 0 are left");
    hostile("a.tiktoken", "AA== 0\nAA== 1\n", "a.tiktoken, line 2: the token");
    hostile("a.txt", "a\nb\n", "the unknown token \"[UNK]\" is not in the vocabulary");
    hostile("a.gguf", "GGUF", "too short for a GGUF file");
    refused({"tokenize", "--model", model, "--steps", "--text", std::string(20'000, 'a')}, "too long to be followed step by step");
}

TEST(TokenizeCommand, ShowsEveryStep) {
    const Outcome bpe = attnscope({"tokenize", "--model", kFolders + "tokenizers/llama3", "--text", "the 12 the", "--steps"});
    ASSERT_EQ(bpe.exit_code, 0) << bpe.err;
    for (const char* text : {"\"the 12 the\": 7 tokens", "  Split            \"the\" \" \" \"12\" \" the\"", "      0  t h e\n",
                             "h + e: rank 1\n", "the word is a token", "(<|begin_of_text|>)"})
        EXPECT_THAT(bpe.out, HasSubstr(text)) << bpe.out;
    const Outcome pieces = attnscope({"tokenize", "--model", kFolders + "tokenizers/bert_uncased", "--text", "Unread", "--steps"});
    EXPECT_THAT(pieces.out, HasSubstr("BertNormalizer   \"unread\"")) << pieces.out;
    EXPECT_THAT(pieces.out, HasSubstr("      \"unread\"\n"));
    const Outcome unigram = attnscope({"tokenize", "--model", kFolders + "tokenizers/t5", "--text", "the", "--steps"});
    EXPECT_THAT(unigram.out, HasSubstr("score ")) << unigram.out;
}

TEST(TokenizeCommand, GivesTheStepsAsJson) {
    const std::vector<std::string> command{"tokenize", "--model", kFolders + "tokenizers/gpt2", "--text", "the mat<|endoftext|>", "--json"};
    std::vector<std::string> with_steps = command;
    with_steps.emplace_back("--steps");
    const json plain = json::parse(attnscope(command).out), steps = json::parse(attnscope(with_steps).out);
    for (const char* key : {"ids", "tokens", "offsets"}) EXPECT_EQ(steps.at(key), plain.at(key));
    EXPECT_EQ(steps.at("model"), "BPE");
    EXPECT_EQ(steps.at("stages").front(), json({{"name", "text"}, {"pieces", {"the mat<|endoftext|>"}}}));
    EXPECT_EQ(steps.at("stages").back().at("pieces"), json({"the", "\u0120mat", "<|endoftext|>"}));
    json ids = json::array();
    for (const json& word : steps.at("words")) {
        if (word.contains("added_token")) ids.push_back(word.at("added_token"));
        else
            for (const json& token : word.at("tokens")) ids.push_back(token.at("id"));
    }
    EXPECT_EQ(ids, plain.at("ids"));
    EXPECT_FALSE(steps.at("words").at(1).at("joins").empty());
}

TEST(TokenizeCommand, SaysWhatItTookForGranted) {
    const std::string ranks = std::string(ATTN_TEST_DATA) + "/golden/tokenizer_files/tiktoken";
    const Outcome outcome = attnscope({"tokenize", "--model", ranks, "--text", "the mat", "--json"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.err, HasSubstr("attnscope: No published vocabulary has 420 ranks"));
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1);
}

/// A file that does not name its way of splitting a text into words, as some of those converted early do not.
TEST(ModelOption, WhatIsAssumedOfATokenizerIsSaidByEveryCommand) {
    const ScratchFolder folder;
    std::ifstream original(std::string(ATTN_TEST_DATA) + "/golden/gguf/llama_biased.gguf", std::ios::binary);
    std::stringstream bytes;
    bytes << original.rdbuf();
    std::string changed = bytes.str();
    const std::size_t key = changed.find("tokenizer.ggml.pre");
    ASSERT_NE(key, std::string::npos);
    changed[key + std::string_view("tokenizer.ggml.pr").size()] = 'x';
    const std::string model = folder.file("unnamed.gguf", changed);
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"tokenize", "--model", model, "--text", "the mat"},
          {"sample", "--model", model, "--prompt", "the mat", "--tokens", "1"},
          {"trace", "--model", model, "--text", "the mat", "--out", folder.path("trace.safetensors")}}) {
        const Outcome outcome = attnscope(command);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr("llama.cpp's default is used")) << command[0];
    }
}

TEST(ModelOption, ATokenizersFileStandsForItsModelAndThatIsSaid) {
    const ScratchFolder folder;
    const auto trace = [&](const std::string& path) {
        const Outcome outcome = attnscope({"trace", "--model", kFolders + path, "--text", "a", "--out", folder.path("trace.safetensors")});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return outcome.err;
    };
    EXPECT_THAT(trace("gpt2/tokenizer.json"), HasSubstr("gpt2/tokenizer.json is only a tokenizer: the model in its folder is used"));
    EXPECT_EQ(trace("gpt2/config.json"), "");
}

TEST(TokenizeCommand, ReadsEveryKindOfFile) {
    const std::string cases = std::string(ATTN_TEST_DATA) + "/golden/tokenizer_files/";
    const ScratchFolder folder;
    std::ofstream(folder.path("vocab.txt")) << "[UNK]\nthe\nmat\n";
    for (const std::string& model :
         {cases + "sentencepiece_bpe", cases + "sentencepiece_unigram/tokenizer.model", cases + "tiktoken/small.tiktoken",
          folder.path("vocab.txt"), folder.path(""), kFolders + "tokenizers/t5/tokenizer.json"}) {
        const Outcome outcome = attnscope({"tokenize", "--model", model, "--text", "the mat", "--json"});
        EXPECT_EQ(outcome.exit_code, 0) << model << ": " << outcome.err;
        EXPECT_GE(json::parse(outcome.out).at("ids").size(), 2U) << model;
    }
}

TEST(CheckCommand, TakesAModelsFolder) {
    const Outcome outcome = attnscope_dev({"check", kFolders + "gpt2"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    for (const char* text : {"GPT-2 (gpt2)", "one.generated", "left.attn.1.weights", "pad.hidden.2"})
        EXPECT_THAT(outcome.out, HasSubstr(text));
    EXPECT_THAT(outcome.out, testing::Not(HasSubstr("FAIL")));
}

// The text of the golden run "one", whose greedy continuation was written by transformers.
const std::string kOneText = "The cat sat on the mat and it didn";

/// Texts of a model without a tokenizer are ids.
TEST(ModelOption, SampleTakesIdsWithoutATokenizer) {
    const std::string gguf = std::string(ATTN_TEST_DATA) + "/golden/gguf/llama.gguf";
    for (const std::string& path : {gguf, kFolders + "llama", kFolders + "llama/config.json"}) {
        SCOPED_TRACE(path);
        const Outcome outcome =
            attnscope({"sample", "--model", path, "--prompt", "1 2 3", "--tokens", "4", "--temperature", "0", "--json"});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        const json line = json::parse(outcome.out);
        const auto model = load_parameters<float>(open_model_folder(path));
        ForwardSettings causal;
        causal.masks.causal = true;
        SamplingSettings greedy;
        greedy.temperature = 0;
        greedy.tokens = 4;
        const std::vector<std::int32_t> prompt = {1, 2, 3}, expected = generate(*model, {prompt, {}, {}}, causal, greedy);
        ASSERT_EQ(line.at("tokens").size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(line.at("tokens")[i].at("id"), expected[i]);
        const Outcome words = attnscope({"sample", "--model", path, "--prompt", "the cat"});
        EXPECT_EQ(words.exit_code, 2);
        EXPECT_THAT(words.err, HasSubstr(", such as \"1 0 2\", found \"the\""));
    }
}

/// Every command takes ids where there is no tokenizer.
TEST(ModelOption, EveryCommandTakesIdsWithoutATokenizer) {
    const ScratchFolder folder;
    const std::string gguf = std::string(ATTN_TEST_DATA) + "/golden/gguf/llama.gguf";
    for (const std::string& model : {gguf, kFolders + "llama"}) {
        SCOPED_TRACE(model);
        const auto run = [&](std::vector<std::string> arguments) {
            const Outcome outcome = attnscope(arguments);
            EXPECT_EQ(outcome.exit_code, 0) << testing::PrintToString(arguments) << outcome.err;
            return outcome;
        };
        run({"trace", "--model", model, "--text", "5 3 9 14", "--out", folder.path("t.safetensors")});
        run({"export", "--model", model, "--text", "5 3 9 14", "--stage", "weights", "--layer", "0", "--out", folder.path("w.csv")});
        EXPECT_THAT(read_bytes(folder.path("w.csv")), HasSubstr(",0 5,1 3,2 9,3 14\r\n"));
        run({"snippet", "--model", model, "--text", "5 3 9 14"});
        EXPECT_EQ(attnscope_dev({"check", model}).exit_code, 0);
        run({"compare-weights", model, model});
        const Outcome cut = run({"tokenize", "--model", model, "--text", "5, 3 9\n14", "--json"});
        EXPECT_EQ(json::parse(cut.out).at("ids"), (std::vector<int>{5, 3, 9, 14}));
        const Outcome sampled = run({"sample", "--model", model, "--prompt", "5 3 9 14", "--tokens", "2", "--temperature", "0"});
        std::istringstream words(sampled.out);
        const std::vector<int> ids{std::istream_iterator<int>(words), {}};
        ASSERT_EQ(ids.size(), 6U) << sampled.out;
        EXPECT_EQ(std::vector<int>(ids.begin(), ids.begin() + 4), (std::vector<int>{5, 3, 9, 14}));
        EXPECT_THAT(sampled.err, HasSubstr("its texts are ids of tokens"));
    }
}

TEST(ModelOption, EncodersAndTheirDecodersTakeIdsWithoutATokenizer) {
    const ScratchFolder folder;
    for (const std::string& name : {std::string("bert"), std::string("t5")}) {
        SCOPED_TRACE(name);
        const std::string model = kFolders + name;
        std::vector<std::string> text = {"--model", model, "--text", "5 3 9 14"};
        if (name == "t5") text.insert(text.end(), {"--source", "7 2 8"});
        const auto run = [&](std::vector<std::string> arguments, const std::vector<std::string>& more = {}) {
            arguments.insert(arguments.end(), text.begin(), text.end());
            arguments.insert(arguments.end(), more.begin(), more.end());
            const Outcome outcome = attnscope(arguments);
            EXPECT_EQ(outcome.exit_code, 0) << testing::PrintToString(arguments) << outcome.err;
            return outcome;
        };
        run({"trace"}, {"--out", folder.path(name + ".safetensors")});
        run({"snippet"});
        run({"doctor"}, {"--leak", "1"});
        for (const char* view : {"step", "lens", "knock-out", "write", "doctor"})
            run({"render"}, {"--view", view, "--out", folder.path(name + "_" + view + ".svg")});
        EXPECT_EQ(attnscope_dev({"check", model}).exit_code, 0);
        EXPECT_EQ(attnscope({"model", model}).exit_code, 0);
        EXPECT_EQ(attnscope({"tokenize", "--model", model, "--text", "5 3"}).exit_code, 0);
    }
    const Outcome answer =
        attnscope({"sample", "--model", kFolders + "t5", "--source", "7 2 8", "--tokens", "3", "--temperature", "0", "--ignore-end"});
    EXPECT_EQ(answer.exit_code, 0) << answer.err;
    std::istringstream words(answer.out);
    EXPECT_EQ((std::vector<int>{std::istream_iterator<int>(words), {}}).size(), 3U) << answer.out;
}

/// Without a tokenizer nothing says which id hides a word, so the command line does.
TEST(ModelOption, SampleFillsInAmongIds) {
    const std::string path = kFolders + "bert";
    const auto sample = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments = {"sample", "--model", path, "--prompt", "5 9 3 9 14", "--temperature", "0"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return attnscope(arguments);
    };
    SamplingSettings greedy;
    greedy.temperature = 0;
    const TokenBatch text{5, {5, 9, 3, 9, 14}, {5}};
    const std::vector<std::int32_t> expected = fill_in(*load_parameters<float>(open_model_folder(path)), text, 9, {}, greedy);
    const Outcome outcome = sample({"--mask", "9", "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const json line = json::parse(outcome.out);
    ASSERT_EQ(line.at("tokens").size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(line.at("tokens")[i].at("id"), expected[i]);
        EXPECT_EQ(line.at("tokens")[i].contains("candidates"), i == 1 || i == 3) << "those that were hidden";
    }
    EXPECT_EQ(line.at("text"), fmt::format("{}", fmt::join(expected, " ")));
    EXPECT_THAT(sample({}).err, HasSubstr("--mask: this model fills in words, but it has no tokenizer to say which id hides one"));
    EXPECT_THAT(sample({"--mask", "7"}).err, HasSubstr("expected a 7 where one is hidden"));
    for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--mask", "7"}}) EXPECT_EQ(sample(more).exit_code, 2);
    const Outcome continues = attnscope({"sample", "--model", kFolders + "llama", "--prompt", "1 2", "--mask", "2"});
    EXPECT_EQ(continues.exit_code, 2);
    EXPECT_THAT(continues.err, HasSubstr("only an encoder fills in words"));
}

/// What is wrong with a folder does not depend on which command opens it.
TEST(ModelOption, EveryCommandSaysTheSameOfADamagedFolder) {
    const ScratchFolder folder;
    const std::string path = folder.path("model");
    std::filesystem::create_directory(path);
    for (const char* file : {"model.safetensors", "config.json"}) std::filesystem::copy(kFolders + "gpt2/" + file, path);
    const auto window = [&] { return attnscope({path}); };
    const auto trace = [&] { return attnscope({"trace", "--model", path, "--text", "a", "--out", folder.path("trace.safetensors")}); };
    const auto expect_refusal = [](const Outcome& outcome, const std::string& words) {
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_THAT(outcome.err, HasSubstr(words));
    };
    expect_refusal(trace(), "this model has no tokenizer: expected ids of tokens from 0 to 365, such as \"1 0 2\", found \"a\"");
    EXPECT_EQ(attnscope({"model", path}).exit_code, 0);
    EXPECT_EQ(attnscope({"sample", "--model", path, "--prompt", "1 2", "--tokens", "1"}).exit_code, 0);
    for (const auto& [config, words] : {std::pair{"{", "config.json, byte 2: is not valid JSON"},
                                        {R"({"model_type": "gpt2", "n_head": NaN})", "is not valid JSON"},
                                        {R"({"n_head": 4})", "config.json, /model_type: this field is missing"}}) {
        SCOPED_TRACE(config);
        folder.file("model/config.json", config);
        const Outcome model = attnscope({"model", path});
        expect_refusal(model, words);
        for (const Outcome& other : {window(), trace(), attnscope({"sample", "--model", path, "--prompt", "1 2"})})
            EXPECT_EQ(other.err, model.err);
    }
    std::filesystem::remove(path + "/config.json");
    expect_refusal(window(), "the number of heads is unknown");  // GPT-2's weights are read without a config.json, too
}

TEST(ModelOption, ATrainingRunIsNoPublishedModel) {
    const ScratchFolder folder;
    const std::string run = folder.path("run");
    const Outcome trained = attnscope({"train", "--task", "copy", "--steps", "2", "--threads", "1", "--out", run});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    const Outcome listed = attnscope({"model", run});
    ASSERT_EQ(listed.exit_code, 0) << listed.err;
    EXPECT_THAT(listed.out, HasSubstr("The folder is that of a training run: attnscope opens it"));
    EXPECT_THAT(listed.out, HasSubstr("not used: the optimizer's\n"));
    EXPECT_EQ(listed.out.find("not a parameter of this family"), std::string::npos);
    for (const std::string& path : {run, run + "/model.safetensors"}) {
        const Outcome trace = attnscope({"trace", "--model", path, "--out", folder.path("trace.safetensors")});
        EXPECT_EQ(trace.exit_code, 2);
        EXPECT_THAT(trace.err, HasSubstr(path + " is a training run, not a published model: use --run " + path));
    }
    const Outcome tokens = attnscope({"tokenize", "--model", run, "--text", "a"});
    EXPECT_EQ(tokens.exit_code, 2);
    EXPECT_THAT(tokens.err, HasSubstr("use --run " + run));
    const Outcome trace = attnscope({"trace", "--run", run, "--out", folder.path("trace.safetensors")});
    EXPECT_EQ(trace.exit_code, 0) << trace.err;
}

TEST(ModelOption, TheConfigurationOfATrainingRunStandsForTheRun) {
    const ScratchFolder folder;
    const std::string run = folder.path("run"), config = run + "/config.json", trace = folder.path("trace.safetensors");
    ASSERT_EQ(attnscope({"train", "--task", "copy", "--steps", "2", "--threads", "1", "--out", run}).exit_code, 0);
    const std::vector<std::vector<std::string>> refused = {{"trace", "--model", config, "--out", trace},
                                                           {"tokenize", "--model", config, "--text", "a"}};
    for (const std::vector<std::string>& arguments : refused) {
        const Outcome outcome = attnscope(arguments);
        EXPECT_EQ(outcome.exit_code, 2) << arguments.front();
        EXPECT_THAT(outcome.err, HasSubstr(config + " is a training run, not a published model: use --run " + config));
    }
    const auto with = [&](std::vector<std::string> arguments, const std::string& path) {
        arguments.push_back(path);
        return attnscope(arguments);
    };
    const std::vector<std::vector<std::string>> taken = {
        {"sample", "--prompt", "a", "--model"}, {"tokenize", "--text", "a", "--run"}, {"trace", "--out", trace, "--run"}};
    for (const std::vector<std::string>& arguments : taken) {
        const Outcome whole = with(arguments, run), part = with(arguments, config);
        EXPECT_EQ(part.exit_code, 0) << arguments.front() << ": " << part.err;
        EXPECT_EQ(part.out, whole.out);
    }
}

TEST(ModelOption, SampleContinuesAsTransformersDoes) {
    const Outcome outcome =
        attnscope({"sample", "--model", kFolders + "gpt2", "--prompt", kOneText, "--temperature", "0", "--tokens", "12", "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    std::vector<int> ids;
    const json line = json::parse(outcome.out);
    for (const json& token : line.at("tokens")) ids.push_back(token.at("id").get<int>());
    EXPECT_EQ(ids, (std::vector<int>{191, 221, 146, 146, 146, 146, 146, 146, 246, 242, 242, 137}));
}

TEST(ModelOption, TraceRecordsWhatTransformersComputes) {
    const ScratchFolder folder;
    const Outcome outcome =
        attnscope({"trace", "--model", kFolders + "gpt2", "--text", kOneText, "--out", folder.path("trace.safetensors")});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const ArrayFile trace = read_safetensors(folder.path("trace.safetensors")),
                    golden = read_safetensors(kFolders + "gpt2/expected.safetensors");
    const auto numbers = [](const ArrayFile& file, std::string_view name) {
        for (const NamedArray& array : file.arrays) {
            if (array.name != name) continue;
            std::vector<float> values(array.bytes.size() / sizeof(float));
            std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
            return values;
        }
        return std::vector<float>();
    };
    for (const auto& [ours, theirs] : {std::pair{"layers.1.attention.weights", "one.attn.1.weights"}, std::pair{"logits", "one.logits"}}) {
        const std::vector<float> a = numbers(trace, ours), b = numbers(golden, theirs);
        ASSERT_FALSE(b.empty()) << theirs;
        ASSERT_EQ(a.size(), b.size()) << ours;
        for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5 * (1 + std::abs(b[i]))) << ours << " " << i;
    }
}

TEST(ModelOption, IsTakenByEveryCommandThatShowsATrace) {
    const ScratchFolder folder;
    const std::vector<std::string> model{"--model", kFolders + "gpt2", "--text", "The cat sat"};
    const auto with_model = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.end(), model.begin(), model.end());
        return attnscope(arguments);
    };
    const Outcome snippet = with_model({"snippet", "--stage", "layers.1.attention.weights"});
    EXPECT_EQ(snippet.exit_code, 0) << snippet.err;
    EXPECT_THAT(snippet.out, HasSubstr("np.exp("));
    const Outcome exported = with_model({"export", "--stage", "layers.0.attention.weights", "--out", folder.path("weights.csv")});
    EXPECT_EQ(exported.exit_code, 0) << exported.err;
    const Outcome leak = with_model({"doctor", "--leak", "1"});
    EXPECT_EQ(leak.exit_code, 0) << leak.err;
    EXPECT_THAT(leak.out, HasSubstr("the future does not leak"));
    const Outcome both = with_model({"trace", "--preset", "gpt-tiny", "--out", folder.path("none.safetensors")});
    EXPECT_EQ(both.exit_code, 2);
    EXPECT_THAT(both.err, HasSubstr("--model cannot be given together with --preset"));
}

}  // namespace
}  // namespace attn::test
