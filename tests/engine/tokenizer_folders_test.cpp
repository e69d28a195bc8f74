/// Tokenizers in folders as people have them, against the ids that transformers and its tokenizers library give from the same files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/io/file_error.hpp"
#include "engine/io/json.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"
#include "tests/engine/io_support.hpp"

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

}  // namespace
}  // namespace attn
