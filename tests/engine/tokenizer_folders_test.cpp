/// Tokenizers in folders as people have them, against the ids that transformers and its tokenizers library give from the same files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "engine/io/file_error.hpp"
#include "engine/io/json.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"
#include "tests/engine/io_support.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

const fs::path kTokenizerFolders = fs::path(ATTN_TEST_DATA) / "golden/tokenizer_folders";

std::vector<std::string> names_of_folders(std::string_view beginning, bool begin) {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(kTokenizerFolders))
        if (entry.is_directory() && entry.path().filename().string().starts_with(beginning) == begin)
            names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<std::int32_t> list_of_ids(const Json& list) {
    std::vector<std::int32_t> ids;
    for (const Json& id : list.items()) ids.push_back(static_cast<std::int32_t>(id.number()));
    return ids;
}

std::vector<std::int32_t> ids_of(const ModelTokenizer& tokenizer, std::string_view text, bool special) {
    std::vector<std::int32_t> ids;
    for (const EncodedToken& token : tokenizer.encode(text, special)) ids.push_back(token.id);
    return ids;
}

/// Compares all cases of a folder's expected.json.
void expect_ids_of_folder(const std::string& name) {
    const fs::path folder = kTokenizerFolders / name;
    const auto tokenizer = read_folder_tokenizer(folder);
    ASSERT_NE(tokenizer, nullptr);
    const Json expected = Json::parse(test::file_bytes(folder / "expected.json"), name);
    std::size_t cases = 0;
    for (const Json& entry : expected.find("cases")->items()) {
        ++cases;
        const std::string& text = entry.find("text")->text();
        SCOPED_TRACE(testing::Message() << name << ": \"" << text << "\"");
        EXPECT_EQ(ids_of(*tokenizer, text, true), list_of_ids(*entry.find("ids")));
        if (const Json* plain = entry.find("plain")) {
            EXPECT_EQ(ids_of(*tokenizer, text, false), list_of_ids(*plain));
        }
        if (const Json* tokens = entry.find("tokens")) {
            std::vector<std::string> texts, wanted;
            tokenizer->encode(text, true, texts);
            for (const Json& token : tokens->items()) wanted.push_back(token.text());
            EXPECT_EQ(texts, wanted);
        }
    }
    EXPECT_GE(cases, 2U);
}

/// tokenizer.json as GPT-2, RoBERTa, BERT, T5 and XLM-RoBERTa are published: its model names no type.
class FormerTokenizerJson : public testing::TestWithParam<std::string> {};
TEST_P(FormerTokenizerJson, GivesTheIdsOfItsLibrary) { expect_ids_of_folder(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Every, FormerTokenizerJson, testing::ValuesIn(names_of_folders("old_", true)),
                         [](const auto& folder) { return folder.param; });

std::string whole_tokenizer(const std::string& model, const std::string& more = "") { return R"({"model": )" + model + more + "}"; }

TEST(FormerTokenizerJson, TheModelFollowsFromItsFields) {
    const auto type_of = [](const std::string& model) -> std::string {
        return parse_tokenizer_json(whole_tokenizer(model), "tokenizer.json")->model_type();
    };
    const std::string vocabulary = R"("vocab": {"[UNK]": 0, "a": 1})", unknown = R"("unk_token": "[UNK]")",
                      prefix = R"("continuing_subword_prefix": "##")", longest = R"("max_input_chars_per_word": 100)";
    EXPECT_EQ(type_of("{" + vocabulary + R"(, "merges": []})"), "BPE");
    EXPECT_EQ(type_of("{" + vocabulary + ", " + unknown + ", " + prefix + ", " + R"("merges": []})"), "BPE");
    EXPECT_EQ(type_of("{" + vocabulary + ", " + unknown + ", " + prefix + ", " + longest + "}"), "WordPiece");
    EXPECT_EQ(type_of("{" + vocabulary + ", " + unknown + "}"), "WordLevel");
    EXPECT_EQ(type_of("{" + vocabulary + ", " + unknown + R"(, "merges": null})"), "WordLevel");
    EXPECT_EQ(type_of(R"({"vocab": [["a", 0.5]]})"), "Unigram");
    EXPECT_EQ(type_of(R"({"vocab": [["a", 0.5]], "unk_id": 0})"), "Unigram");
    try {
        type_of("{" + vocabulary + "}");
        ADD_FAILURE() << "could be anything";
    } catch (const FileError& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("/model/type"));
    }
}

TEST(FormerTokenizerJson, ComponentsFollowFromTheirFields) {
    const std::string model = R"({"vocab": {"[UNK]": 0, "[CLS]": 1, "a": 2, "b": 3, "##b": 4}, "unk_token": "[UNK]",
                                  "continuing_subword_prefix": "##", "max_input_chars_per_word": 100})";
    const auto ids = [&](const std::string& more, std::string_view text) {
        return ids_of(*parse_tokenizer_json(whole_tokenizer(model, more), "tokenizer.json"), text, true);
    };
    const std::string bert = R"({"clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true})";
    EXPECT_EQ(ids(R"(, "normalizer": )" + bert, "AB"), (std::vector<std::int32_t>{2, 4}));
    EXPECT_EQ(ids(R"(, "normalizer": {"normalizers": [{"strip_left": true, "strip_right": true}, {"pattern": {"String": "x"},
                     "content": "b"}]})",
                  " ax "),
              (std::vector<std::int32_t>{2, 4}));
    EXPECT_EQ(ids(R"(, "normalizer": {"prepend": "a"})", "b"), (std::vector<std::int32_t>{2, 4}));
    EXPECT_EQ(ids(R"(, "post_processor": {"sep": ["[UNK]", 0], "cls": ["[CLS]", 1]})", "a"), (std::vector<std::int32_t>{1, 2, 0}));
    EXPECT_EQ(ids(R"(, "post_processor": {"sep": ["b", 3], "cls": ["[CLS]", 1], "trim_offsets": true, "add_prefix_space": false})", "a"),
              (std::vector<std::int32_t>{1, 2, 3}));
    const std::vector<std::int32_t> two = {2, 4};
    const auto decoded = [&](const std::string& decoder) {
        return parse_tokenizer_json(whole_tokenizer(model, R"(, "decoder": )" + decoder), "tokenizer.json")->decode(two);
    };
    EXPECT_EQ(decoded(R"({"prefix": "##", "cleanup": true})"), "ab");
    EXPECT_EQ(decoded(R"({"content": "a", "start": 1, "stop": 0})"), "##b");
    EXPECT_EQ(decoded(R"({"pattern": {"String": "#"}, "content": ""})"), "ab");
}

/// Folders without tokenizer.json.
class ClassFolder : public testing::TestWithParam<std::string> {};
TEST_P(ClassFolder, GivesTheIdsOfTransformers) { expect_ids_of_folder(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Every, ClassFolder, testing::ValuesIn(names_of_folders("old_", false)),
                         [](const auto& folder) { return folder.param; });

/// drawn.json: settings drawn at random beside the same vocabularies.
TEST(ClassFolder, GivesTheIdsOfTransformersWhateverItsSettings) {
    const Json drawn = Json::parse(test::file_bytes(kTokenizerFolders / "drawn.json"), "drawn.json");
    const Json::List& texts = drawn.find("texts")->items();
    std::set<std::string> classes;
    std::size_t number = 0;
    for (const Json& folder : drawn.find("folders")->items()) {
        SCOPED_TRACE(testing::Message() << "folder " << number++ << ": " << folder.find("files")->dump());
        const test::TemporaryFolder place;
        for (const Json& name : folder.find("vocabulary")->items())
            fs::copy_file(kTokenizerFolders / folder.find("from")->text() / name.text(), place.path() / name.text());
        for (const auto& [name, content] : folder.find("files")->members()) test::put_file(place.path() / name, content.dump());
        const auto tokenizer = read_folder_tokenizer(place.path());
        ASSERT_NE(tokenizer, nullptr);
        for (std::size_t i = 0; i < texts.size(); ++i)
            EXPECT_EQ(ids_of(*tokenizer, texts[i].text(), true), list_of_ids(folder.find("ids")->items()[i])) << texts[i].text();
        classes.insert(folder.find("class")->text());
    }
    EXPECT_EQ(number, 150U);
    EXPECT_EQ(classes.size(), 13U);
}

/// What reading a folder with these files says; the vocabularies are those of the golden folders.
std::string folder_refusal(const std::vector<std::string>& vocabulary, const std::string& model, const std::string& settings = "") {
    const test::TemporaryFolder place;
    for (const std::string& file : vocabulary) fs::copy_file(kTokenizerFolders / file, place.path() / fs::path(file).filename());
    if (!model.empty()) test::put_file(place.path() / "config.json", R"({"model_type": ")" + model + R"("})");
    if (!settings.empty()) test::put_file(place.path() / "tokenizer_config.json", settings);
    try {
        read_folder_tokenizer(place.path());
    } catch (const FileError& error) {
        return std::string(error.what()).substr(place.path().string().size());
    }
    return "";
}

TEST(ClassFolder, OfAClassThatIsNotKnownIsRefusedByItsName) {
    const std::vector<std::string> merges = {"gpt2_added/vocab.json", "gpt2_added/merges.txt"}, words = {"wp_bert_added/vocab.txt"};
    EXPECT_THAT(folder_refusal(words, "bert", R"({"tokenizer_class": "BertJapaneseTokenizer"})"),
                testing::StartsWith("/tokenizer_config.json, /tokenizer_class: attnscope does not support the tokenizer class "
                                    "\"BertJapaneseTokenizer\" without tokenizer.json; expected one of GPT2Tokenizer, "));
    EXPECT_THAT(folder_refusal(words, "albert"),
                testing::StartsWith("/config.json, /model_type: attnscope does not know the tokenizer class "
                                    "of models of type \"albert\""));
    EXPECT_EQ(folder_refusal(merges, "falcon", R"({"tokenizer_class": "PreTrainedTokenizerFast"})"),
              ": has neither tokenizer.json nor tokenizer.model, which the tokenizer class \"PreTrainedTokenizerFast\" in "
              "tokenizer_config.json reads");
    EXPECT_EQ(folder_refusal(merges, "bloom"),
              ": has neither tokenizer.json nor tokenizer.model, which the tokenizer of models of type \"bloom\" reads");
    EXPECT_EQ(folder_refusal(words, "roberta"),
              ": has neither tokenizer.json nor vocab.json with merges.txt, which the tokenizer of models of type \"roberta\" reads");
    EXPECT_EQ(
        folder_refusal({"sp_t5_spiece/spiece.model"}, "llama", R"({"tokenizer_class": "LlamaTokenizer"})"),
        ": has neither tokenizer.json nor tokenizer.model, which the tokenizer class \"LlamaTokenizer\" in tokenizer_config.json reads");
    EXPECT_THAT(folder_refusal({"sp_t5_spiece/spiece.model"}, "t5", R"({"extra_ids": 70000})"), testing::HasSubstr("70000 extra_ids"));
    // The type decides where the files of such models name a wrong class.
    EXPECT_EQ(folder_refusal(merges, "qwen2", R"({"tokenizer_class": "OddTokenizer"})"), "");
    EXPECT_THAT(folder_refusal(merges, "qwen3", R"({"tokenizer_class": "OddTokenizer"})"), testing::HasSubstr("\"OddTokenizer\""));
}

}  // namespace
}  // namespace attn
