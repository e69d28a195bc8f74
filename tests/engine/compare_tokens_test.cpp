/// Where the outputs of two tokenizers first differ.

#include "engine/tokenizer/compare_tokens.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/tokenizer/tokenizer_files.hpp"

namespace attn {
namespace {

Encoding pieces(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& ranges, bool framed = false) {
    Encoding all;
    if (framed) all.push_back({.id = 1, .from_template = true});
    for (const auto& [begin, end] : ranges) all.push_back({.id = 2, .begin = begin, .end = end});
    if (framed) all.push_back({.id = 3, .from_template = true});
    return all;
}

TEST(CompareTokens, SpacesAndWhatTheTemplateAddsAreNotCounted) {
    const std::string text = "a cat";
    EXPECT_FALSE(first_difference(text, pieces({{0, 1}, {1, 5}}), pieces({{0, 1}, {2, 5}}, true)));
    EXPECT_FALSE(first_difference(text, pieces({{0, 1}, {1, 2}, {2, 5}}), pieces({{0, 2}, {2, 5}})));
    EXPECT_FALSE(first_difference("", {}, pieces({}, true)));
}

TEST(CompareTokens, TheFirstPieceThatDiffersAndWhereTheyMeetAgain) {
    const std::string text = "the unhappily cat";
    const Encoding a = pieces({{0, 3}, {3, 7}, {7, 10}, {10, 13}, {13, 17}}), b = pieces({{0, 3}, {4, 6}, {6, 13}, {14, 17}}, true);
    const auto found = first_difference(text, a, b);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->a, 1U);
    EXPECT_EQ(found->b, 2U) << "the template's token is counted among the places";
    EXPECT_EQ(found->begin, 4U);
    EXPECT_EQ(found->end, 13U);
    EXPECT_EQ(found->count_a, 3U);
    EXPECT_EQ(found->count_b, 2U);
    const auto turned = first_difference(text, b, a);
    ASSERT_TRUE(turned);
    EXPECT_EQ(turned->a, 2U);
    EXPECT_EQ(turned->count_a, 2U);
}

TEST(CompareTokens, TheSamePlacesMayBeSpelledDifferently) {
    const auto pairs = equal_tokens("a cat", pieces({{0, 1}, {1, 5}}), pieces({{0, 1}, {2, 5}}, true));
    EXPECT_EQ(pairs, (std::vector<std::pair<std::size_t, std::size_t>>{{0, 1}, {1, 2}}));
    EXPECT_TRUE(equal_tokens("a cat", pieces({{0, 5}}), pieces({{0, 1}, {1, 5}})).empty());
    EXPECT_TRUE(spelled_alike(" cat", "cat") && spelled_alike("ing", "##ing") && spelled_alike("", "\n"));
    EXPECT_FALSE(spelled_alike("Lily", "lily") || spelled_alike(" cat", "cats") || spelled_alike("the", "[UNK]"));
}

TEST(CompareTokens, PiecesThatComeToAnEnd) {
    const auto found = first_difference("ab", pieces({{0, 1}}), pieces({{0, 1}, {1, 2}}));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->a, 1U);
    EXPECT_EQ(found->b, 1U);
    EXPECT_EQ(found->begin, 1U);
    EXPECT_EQ(found->end, 2U);
    EXPECT_EQ(found->count_a, 0U);
    EXPECT_EQ(found->count_b, 1U);
}

/// A character that is two pieces in one tokenizer and one in the other.
TEST(CompareTokens, PartsOfACharacterDiffer) {
    const std::string text = "a \u00E9 b";
    const auto found = first_difference(text, pieces({{0, 1}, {1, 4}, {2, 4}, {4, 6}}), pieces({{0, 1}, {2, 4}, {5, 6}}));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->begin, 2U);
    EXPECT_EQ(found->end, 4U);
    EXPECT_EQ(found->count_a, 2U);
    EXPECT_EQ(found->count_b, 1U);
}

TEST(CompareTokens, ATokenizerAgreesWithItselfAndHasASeparatorWhereItsTemplateHasOne) {
    const std::filesystem::path folder = std::filesystem::path(ATTN_TEST_DATA) / "golden/hf/tokenizers";
    const auto bert = read_tokenizer(folder / "bert_uncased"), qwen = read_tokenizer(folder / "qwen2");
    const std::string text = "The cat's caf\u00E9, unhappily.";
    EXPECT_FALSE(first_difference(text, bert->encode(text), bert->encode(text, false)));
    EXPECT_TRUE(first_difference(text, bert->encode(text), qwen->encode(text)));
    const Encoding pair = bert->encode_pair("a", "b");
    ASSERT_TRUE(bert->separator());
    EXPECT_EQ(*bert->separator(), pair.back().id);
    EXPECT_FALSE(qwen->separator());
}

}  // namespace
}  // namespace attn
