/// GGUF files: what is read, what is refused, and their tokenizers against other implementations' ids.

#include "engine/io/gguf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "engine/tokenizer/gguf_tokenizer.hpp"
#include "tests/engine/gguf_bytes.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;
using test::gguf_key;
using test::gguf_list;
using test::gguf_text;
using test::gguf_texts;
using test::le;
using testing::HasSubstr;

/// A valid file: a few keys, two tensors, 64 bytes of data.
struct GgufParts {
    std::string magic = "GGUF";
    std::uint32_t version = 3;
    std::uint64_t tensor_count = 2, key_count = 5;
    std::string keys = gguf_key("general.architecture", 8, gguf_text("gpt2")) + gguf_key("a.block_count", 4, le<std::uint32_t>(12)) +
                       gguf_key("a.eps", 6, le(0.5F)) + gguf_key("a.causal", 7, le<std::uint8_t>(1)) +
                       gguf_key("a.list", 9, gguf_list(8, 2, gguf_text("x") + gguf_text("yz")));
    std::string first = gguf_text("a.weight") + le<std::uint32_t>(2) + le<std::uint64_t>(3) + le<std::uint64_t>(2) + le<std::uint32_t>(0) +
                        le<std::uint64_t>(0);
    std::string second =
        gguf_text("b.weight") + le<std::uint32_t>(1) + le<std::uint64_t>(32) + le<std::uint32_t>(8) + le<std::uint64_t>(32);
    std::string data = std::string(66, '\1');

    std::string bytes() const {
        std::string out = magic + le(version) + le(tensor_count) + le(key_count) + keys + first + second;
        out.append((32 - out.size() % 32) % 32, '\0');
        return out + data;
    }
};

GgufFile read_gguf(const std::string& bytes) {
    MemoryInput input(test::as_bytes(bytes), "file.gguf");
    return GgufFile::read(input);
}

std::string gguf_refusal(const std::string& bytes) {
    try {
        read_gguf(bytes);
    } catch (const FileError& error) {
        return error.what();
    }
    return "";
}

TEST(Gguf, ReadsMetadataAndTheTableOfTensors) {
    for (const std::uint32_t version : {2U, 3U}) {
        GgufParts parts;
        parts.version = version;
        const std::string bytes = parts.bytes();
        const GgufFile file = read_gguf(bytes);
        EXPECT_EQ(file.text("general.architecture"), "gpt2");
        EXPECT_EQ(file.find("a.block_count")->as_unsigned(), 12U);
        EXPECT_EQ(file.find("a.eps")->number(), 0.5);
        EXPECT_TRUE(file.find("a.causal")->boolean());
        ASSERT_EQ(file.list("a.list").size(), 2U);
        EXPECT_EQ(file.list("a.list")[1].text(), "yz");
        ASSERT_EQ(file.tensors().size(), 2U);
        EXPECT_EQ(file.tensors()[0].shape, (std::vector<std::int64_t>{2, 3}));
        EXPECT_EQ(file.tensors()[0].end - file.tensors()[0].begin, 24U);
        EXPECT_EQ(gguf_type(file.tensors()[1].type)->name, "Q8_0");
        EXPECT_EQ(file.tensors()[1].end, bytes.size());
    }
}

TEST(Gguf, RefusesWhatCannotBe) {
    const auto with = [](auto&& change) {
        GgufParts parts;
        change(parts);
        return gguf_refusal(parts.bytes());
    };
    EXPECT_THAT(with([](GgufParts& p) { p.magic = "GGML"; }), HasSubstr("does not begin with \"GGUF\""));
    EXPECT_THAT(with([](GgufParts& p) { p.version = 1; }), HasSubstr("has version 1; expected 2 or 3"));
    EXPECT_THAT(with([](GgufParts& p) { p.version = 3U << 24U; }), HasSubstr("big-endian"));
    EXPECT_THAT(with([](GgufParts& p) { p.tensor_count = std::uint64_t{1} << 63U; }), HasSubstr("more than the file can hold"));
    EXPECT_THAT(with([](GgufParts& p) { p.key_count = 60'000; }), HasSubstr("more than the file can hold"));
    EXPECT_THAT(with([](GgufParts& p) { p.keys = le<std::uint64_t>(std::uint64_t{1} << 62U) + p.keys; }), HasSubstr("at most"));
    EXPECT_THAT(with([](GgufParts& p) { p.keys += gguf_key("a.eps", 6, le(0.5F)), ++p.key_count; }),
                HasSubstr("the key \"a.eps\" is given twice"));
    EXPECT_THAT(with([](GgufParts& p) { p.keys += gguf_key("z", 13, ""), ++p.key_count; }), HasSubstr("there is no value type 13"));
    EXPECT_THAT(with([](GgufParts& p) { p.keys += gguf_key("z", 7, le<std::uint8_t>(2)), ++p.key_count; }),
                HasSubstr("a bool of 2; expected 0 or 1"));
    EXPECT_THAT(with([](GgufParts& p) { p.keys += gguf_key("z", 9, gguf_list(10, std::uint64_t{1} << 61U, "")), ++p.key_count; }),
                HasSubstr("more than the file can hold"));
    std::string nested = gguf_list(0, 0, "");
    for (int i = 0; i < 8; ++i) nested = gguf_list(9, 1, nested);
    EXPECT_THAT(with([&](GgufParts& p) { p.keys += gguf_key("z", 9, nested), ++p.key_count; }), HasSubstr("nested lists"));
    const auto tensor = [](std::uint32_t axes, const std::string& sizes, std::uint32_t type, std::uint64_t offset) {
        return gguf_text("a.weight") + le(axes) + sizes + le(type) + le(offset);
    };
    const auto first = [&](const std::string& bytes) { return with([&](GgufParts& p) { p.first = bytes; }); };
    EXPECT_THAT(first(tensor(5, "", 0, 0)), HasSubstr("has 5 axes"));
    EXPECT_THAT(first(tensor(2, le<std::uint64_t>(4) + le<std::uint64_t>(0), 0, 0)), HasSubstr("has an axis of 0; sizes go from 1 to"));
    EXPECT_THAT(first(tensor(1, le(std::uint64_t{1} << 63U), 0, 0)), HasSubstr("has an axis of"));
    const std::string large = le<std::uint64_t>(0x7FFFFFFF);
    EXPECT_THAT(first(tensor(3, large + large + large, 0, 0)), HasSubstr("the number of bytes overflows"));
    EXPECT_THAT(first(tensor(1, le<std::uint64_t>(8), 99, 0)), HasSubstr("has type 99"));
    EXPECT_THAT(first(tensor(1, le<std::uint64_t>(31), 8, 0)), HasSubstr("rows of 31 numbers, which blocks of 32 (Q8_0) do not fill"));
    EXPECT_THAT(first(tensor(1, le<std::uint64_t>(4), 0, 4)), HasSubstr("not a multiple of 32"));
    EXPECT_THAT(first(tensor(1, le<std::uint64_t>(4), 0, 1024)),
                HasSubstr("takes 16 bytes from 1024 on in the data of all tensors, of which the file has only "));
    EXPECT_THAT(first(tensor(1, le<std::uint64_t>(4), 0, ~std::uint64_t{31})), HasSubstr("the file is incomplete"));
    EXPECT_THAT(first(tensor(1, le<std::uint64_t>(16), 0, 0)), HasSubstr("\"b.weight\": overlaps \"a.weight\""));
    EXPECT_THAT(with([](GgufParts& p) {
                    p.second =
                        gguf_text("b.weight") + le<std::uint32_t>(1) + le<std::uint64_t>(4) + le<std::uint32_t>(0) + le<std::uint64_t>(64);
                    p.data += std::string(64, '\0');
                }),
                HasSubstr("\"a.weight\": takes 24 bytes by its type and shape, but the next one begins after 64"));
    EXPECT_THAT(with([](GgufParts& p) { p.second = p.first; }), HasSubstr("the name is given twice"));
    EXPECT_THAT(with([](GgufParts& p) { p.keys += gguf_key("general.alignment", 4, le<std::uint32_t>(24)), ++p.key_count; }),
                HasSubstr("expected a power of two"));
}

TEST(Gguf, EveryTruncationIsRefused) {
    const std::string bytes = GgufParts().bytes();
    for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_NE(gguf_refusal(bytes.substr(0, size)), "") << size;
}

// --- tokenizers ------------------------------------------------------------------------------------------------

GgufFile vocabulary_file(const std::string& pre, const std::string& merges) {
    GgufParts parts;
    parts.tensor_count = 0;
    parts.first = parts.second = parts.data = "";
    parts.keys = gguf_key("tokenizer.ggml.model", 8, gguf_text("gpt2")) + gguf_key("tokenizer.ggml.pre", 8, gguf_text(pre)) +
                 gguf_key("tokenizer.ggml.tokens", 9, gguf_texts({"a", "b", "ab", "\u0120"})) +
                 gguf_key("tokenizer.ggml.merges", 9, merges);
    parts.key_count = 4;
    return read_gguf(parts.bytes());
}

TEST(GgufTokenizer, RefusesWhatItDoesNotKnowByName) {
    const auto refuse = [](const GgufFile& file) -> std::string {
        try {
            read_gguf_tokenizer(file);
        } catch (const FileError& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(refuse(vocabulary_file("gpt-2", gguf_texts({"a b"}))), "");
    EXPECT_THAT(refuse(vocabulary_file("syllables", gguf_texts({"a b"}))), HasSubstr("does not support the pre-tokenizer \"syllables\""));
    EXPECT_THAT(refuse(vocabulary_file("gpt-2", gguf_texts({"a c"}))), HasSubstr("the token \"c\" is not in the vocabulary"));
    EXPECT_THAT(refuse(vocabulary_file("gpt-2", gguf_texts({"ab"}))), HasSubstr("entry 0 is not a pair"));
}

const fs::path kVocabularies = fs::path(ATTN_TEST_DATA) / "../../shared/golden/vocab";

/// Published vocabularies are not part of this repository; they are read from beside the checkout. Without them, GgufCutsAsItsNameSays and
/// its neighbours still compare the same kinds of tokenizers; `./dev test` says how many of these cases were not run.
class PublishedVocabulary : public testing::TestWithParam<std::string> {};

/// Texts are joined by separator lines; ids do not include the tokens that a template adds.
TEST_P(PublishedVocabulary, GivesTheIdsOfItsTexts) {
    const std::string path = (kVocabularies / (GetParam() + ".gguf")).string();
    if (std::error_code none; !fs::exists(path, none)) {
        std::cout << "not run here: published vocabularies are not part of the repository (../shared/golden/vocab)\n";
        return;
    }
    const auto tokenizer = read_gguf_tokenizer(GgufFile::read(path));
    const std::string texts = test::file_bytes(path + ".inp"), separator = "\n__ggml_vocab_test__\n";
    std::istringstream expected(test::file_bytes(path + ".out"));
    std::size_t at = 0, cases = 0;
    for (std::string line; std::getline(expected, line); ++cases) {
        const std::size_t end = texts.find(separator, at);
        ASSERT_NE(end, std::string::npos) << cases;
        const std::string input = texts.substr(at, end - at);
        at = end + separator.size();
        std::vector<std::int32_t> ids, ours;
        std::istringstream numbers(line);
        for (std::int32_t id = 0; numbers >> id;) ids.push_back(id);
        for (const EncodedToken& token : tokenizer->encode(input, false)) ours.push_back(token.id);
        EXPECT_EQ(ours, ids) << "text " << cases << ": \"" << input << "\"";
    }
    EXPECT_EQ(cases, 46U);
}
std::string vocabulary_name(const testing::TestParamInfo<std::string>& vocabulary) {
    std::string name = vocabulary.param;
    for (char& c : name)
        if (c == '-') c = '_';
    return name;
}
INSTANTIATE_TEST_SUITE_P(BesideTheCheckout, PublishedVocabulary, testing::Values("gpt-2", "llama-spm", "bert-bge"), vocabulary_name);

}  // namespace
}  // namespace attn
