/// Where the end tokens of a model are found.

#include "engine/families/end_tokens.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "engine/families/model_folder.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/input_file.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"
#include "tests/engine/gguf_bytes.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A folder with these contents in its files; "" for no file.
class EndsOfFolder {
public:
    std::string config = "{}", generation, tokenizer_config;

    EndTokens read() const {
        for (const auto& [name, text] :
             {std::pair("generation_config.json", &generation), std::pair("tokenizer_config.json", &tokenizer_config)}) {
            fs::remove(folder_.path() / name);
            if (!text->empty()) std::ofstream(folder_.path() / name) << *text;
        }
        JsonObject json(config, "config.json");
        return folder_end_tokens(folder_.path(), json, tokenizer_.get(), 366);
    }
    std::string refusal() const {
        try {
            read();
        } catch (const FileError& error) {
            return error.what();
        }
        return "";
    }

private:
    test::TemporaryFolder folder_;
    std::shared_ptr<const ModelTokenizer> tokenizer_ = read_folder_tokenizer(fs::path(ATTN_TEST_DATA) / "golden/hf/gpt2");
};

TEST(EndTokens, AreThoseThatTransformersWouldStopAt) {
    EndsOfFolder folder;
    EXPECT_THAT(folder.read().ids, IsEmpty());
    folder.tokenizer_config = R"({"eos_token": "<|endoftext|>"})";
    EXPECT_THAT(folder.read().ids, ElementsAre(365)) << "the tokenizer's, where nothing else says it";
    folder.tokenizer_config = R"({"eos_token": {"content": "<|endoftext|>", "special": true}})";
    EXPECT_THAT(folder.read().ids, ElementsAre(365));
    folder.config = R"({"eos_token_id": 7})";
    EXPECT_THAT(folder.read().ids, ElementsAre(7));
    folder.config = R"({"text_config": {"eos_token_id": [9, 3]}})";
    EXPECT_THAT(folder.read().ids, ElementsAre(3, 9)) << "of the part that is about words";
    folder.generation = R"({"eos_token_id": [11, 5, 11]})";
    EXPECT_THAT(folder.read().ids, ElementsAre(5, 11)) << "generation_config.json comes first";
    folder.generation = R"({"eos_token_id": null, "do_sample": true})";
    EXPECT_THAT(folder.read().ids, ElementsAre(3, 9)) << "where it speaks of them";
    folder.tokenizer_config = R"({"eos_token": "no such token"})";
    folder.config = "{}";
    EXPECT_THAT(folder.read().ids, IsEmpty());
}

TEST(EndTokens, ThatTheModelDoesNotHaveAreLeftOutAndSaid) {
    EndsOfFolder folder;
    folder.config = R"({"eos_token_id": [-1, 4, 366, 50256]})";
    const EndTokens found = folder.read();
    EXPECT_THAT(found.ids, ElementsAre(4));
    ASSERT_EQ(found.notes.size(), 3U);
    EXPECT_THAT(found.notes[2], HasSubstr("50256"));
}

TEST(EndTokens, ThatAreNoIdsAreRefusedByFileAndPlace) {
    EndsOfFolder folder;
    for (const char* bad :
         {R"({"eos_token_id": "</s>"})", R"({"eos_token_id": [1, "two"]})", R"({"eos_token_id": 1.5})", R"({"eos_token_id": {}})"}) {
        folder.generation.clear();
        folder.config = bad;
        EXPECT_THAT(folder.refusal(), AllOf(HasSubstr("config.json"), HasSubstr("/eos_token_id"))) << bad;
        folder.config = "{}";
        folder.generation = bad;
        EXPECT_THAT(folder.refusal(), AllOf(HasSubstr("generation_config.json"), HasSubstr("/eos_token_id"))) << bad;
    }
    for (const char* damaged : {"{\"eos_token_id\": 1", "[]", "\xFF"}) {
        folder.generation = damaged;
        EXPECT_THAT(folder.refusal(), HasSubstr("generation_config.json")) << damaged;
    }
}

TEST(EndTokens, AFileThatIsListedButCannotBeOpenedIsNotTakenAsMissing) {
    const auto tokenizer = read_folder_tokenizer(fs::path(ATTN_TEST_DATA) / "golden/hf/gpt2");
    for (const char* name : {"generation_config.json", "tokenizer_config.json"}) {
        const test::TemporaryFolder folder;
        const auto read = [&] {
            JsonObject json("{}", "config.json");
            return folder_end_tokens(folder.path(), json, tokenizer.get(), 366);
        };
        EXPECT_NO_THROW(read());
        fs::create_symlink("../blobs/0123", folder.path() / name);
        try {
            read();
            ADD_FAILURE() << name;
        } catch (const FileError& error) {
            EXPECT_THAT(error.what(), AllOf(HasSubstr(name), HasSubstr("cannot be opened"))) << "a link of an incomplete download";
        }
    }
}

TEST(EndTokens, OfAGgufFileAreTheEndsOfTextTurnAndMessage) {
    const auto ends_of = [](const std::vector<std::pair<std::string, std::uint32_t>>& ids) {
        test::GgufKeys keys;
        for (const auto& [key, id] : ids) keys.add_id("tokenizer.ggml." + key, id);
        const std::string bytes = keys.bytes();
        MemoryInput input(test::as_bytes(bytes), "file.gguf");
        return gguf_end_tokens(GgufFile::read(input), 100);
    };
    EXPECT_THAT(ends_of({}).ids, IsEmpty());
    EXPECT_THAT(ends_of({{"bos_token_id", 3}, {"eos_token_id", 2}}).ids, ElementsAre(2));
    EXPECT_THAT(ends_of({{"eos_token_id", 9}, {"eot_token_id", 4}, {"eom_token_id", 9}}).ids, ElementsAre(4, 9));
    const EndTokens outside = ends_of({{"eos_token_id", 100}, {"eot_token_id", ~std::uint32_t{0}}});
    EXPECT_THAT(outside.ids, IsEmpty());
    EXPECT_EQ(outside.notes.size(), 1U) << "the largest number says that there is none";
}

TEST(EndTokens, OfAModelThatWritesNothingAreNone) {
    EXPECT_THAT(open_model_folder(fs::path(ATTN_TEST_DATA) / "golden/hf/roberta").ends, IsEmpty());
    EXPECT_THAT(open_model_folder(fs::path(ATTN_TEST_DATA) / "golden/hf/gpt2").ends, ElementsAre(365));
    EXPECT_THAT(open_model_folder(fs::path(ATTN_TEST_DATA) / "golden/hf/t5").ends, ElementsAre(1));
}

}  // namespace
}  // namespace attn
