/// All texts in tests/golden/hf/tokenizers: ids, ranges, segments and decoded texts match the tokenizers library.

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/io/input_file.hpp"
#include "engine/io/json.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"

namespace attn {
namespace {

const std::filesystem::path kGoldenTokenizers = ATTN_TEST_DATA "/golden/hf/tokenizers";

std::vector<std::int32_t> ids_of(const Encoding& encoding) {
    std::vector<std::int32_t> ids;
    for (const EncodedToken& token : encoding) ids.push_back(token.id);
    return ids;
}

std::vector<std::int32_t> integers(const Json& list) {
    std::vector<std::int32_t> out;
    for (const Json& item : list.items()) out.push_back(static_cast<std::int32_t>(item.number()));
    return out;
}

std::size_t code_points(std::string_view text, std::size_t bytes) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < bytes; ++i) count += (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80;
    return count;
}

/// Ranges in code points; those of the second text of a pair are relative to that text.
std::vector<std::vector<std::int32_t>> ranges_of(const Encoding& encoding, std::string_view first, std::string_view second,
                                                 std::size_t in_first) {
    std::vector<std::vector<std::int32_t>> out;
    std::size_t seen = 0;
    for (const EncodedToken& token : encoding) {
        const std::string_view text = seen < in_first ? first : second;
        seen += token.from_template ? 0 : 1;
        const auto at = [&](std::uint32_t byte) { return static_cast<std::int32_t>(code_points(text, token.from_template ? 0 : byte)); };
        out.push_back({at(token.begin), at(token.end)});
    }
    return out;
}

std::vector<std::vector<std::int32_t>> ranges_in(const Json& list) {
    std::vector<std::vector<std::int32_t>> out;
    for (const Json& item : list.items()) out.push_back(integers(item));
    return out;
}

class GoldenTokenizer : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTokenizer, GivesTheIdsOfTheTokenizersLibrary) {
    const auto tokenizer = read_tokenizer_json(kGoldenTokenizers / GetParam() / "tokenizer.json");
    const std::string file = (kGoldenTokenizers / GetParam() / "tokens.json").string();
    const Json golden = Json::parse(read_whole_file(file, {}), file);
    std::size_t cases = 0;
    for (const Json& entry : golden.find("cases")->items()) {
        ++cases;
        const std::string text = entry.find("text")->text(), pair = entry.find("pair") != nullptr ? entry.find("pair")->text() : "";
        SCOPED_TRACE(testing::Message() << "text " << cases << ": \"" << text << "\" and \"" << pair << "\"");
        const Json& plain = *entry.find("plain");
        const Json& special = *entry.find("special");
        const auto encode = [&](bool add) {
            return entry.find("pair") != nullptr ? tokenizer->encode_pair(text, pair, add) : tokenizer->encode(text, add);
        };
        const std::size_t in_first = tokenizer->encode(text, false).size();
        const Encoding without = encode(false), with = encode(true);
        EXPECT_EQ(ids_of(without), integers(*plain.find("ids")));
        std::vector<std::string> texts, expected_texts;
        if (entry.find("pair") == nullptr) tokenizer->encode(text, false, texts);
        else tokenizer->encode_pair(text, pair, false, texts);
        for (const Json& token : plain.find("tokens")->items()) expected_texts.push_back(token.text());
        EXPECT_EQ(texts, expected_texts);
        EXPECT_EQ(ranges_of(without, text, pair, in_first), ranges_in(*plain.find("offsets")));
        const Json& expected = special.find("ids") != nullptr ? special : plain;
        EXPECT_EQ(ids_of(with), integers(*expected.find("ids")));
        EXPECT_EQ(ranges_of(with, text, pair, in_first), ranges_in(*expected.find("offsets")));
        std::vector<std::int32_t> types;
        for (const EncodedToken& token : with) types.push_back(token.type);
        EXPECT_EQ(types, integers(*special.find("type_ids")));
        EXPECT_EQ(tokenizer->decode(ids_of(without), true), plain.find("decoded")->text());
        EXPECT_EQ(tokenizer->decode(ids_of(with), false), special.find("decoded")->text());
        EXPECT_EQ(tokenizer->decode(ids_of(with), true), special.find("decoded_skip")->text());
        if (HasFailure()) return;
    }
    EXPECT_GT(cases, 100U);
}

INSTANTIATE_TEST_SUITE_P(EveryKind, GoldenTokenizer,
                         testing::Values("bert_cased", "bert_uncased", "bloom", "digits", "gemma", "gpt2", "llama2", "llama3", "mistral",
                                         "neox", "qwen2", "roberta", "t5", "t5_nmt_nfkc"),
                         [](const auto& tokenizer) { return tokenizer.param; });

}  // namespace
}  // namespace attn
