#include "engine/tokenizer/tokenizer.hpp"

#include <gtest/gtest.h>

#include <random>

#include "engine/tensor/error.hpp"

namespace attn {
namespace {

using Texts = std::vector<std::string>;

Texts symbols(const Tokenizer& tokenizer, std::string_view text) {
    Texts out;
    for (const TextToken& token : tokenizer.encode(text)) out.emplace_back(text.substr(token.begin, token.end - token.begin));
    return out;
}
std::vector<std::int32_t> ids(const Tokenizer& tokenizer, std::string_view text) {
    std::vector<std::int32_t> out;
    for (const TextToken& token : tokenizer.encode(text)) out.push_back(token.id);
    return out;
}
Tokenizer of(TokenizerKind kind, const Texts& texts, bool special_tokens = true) { return {kind, texts, special_tokens}; }

TEST(Tokenizer, IdsFollowFirstAppearance) {
    const Tokenizer words = of(TokenizerKind::Word, {"the cat", "sat the mat"});
    EXPECT_EQ(words.vocabulary(), (Texts{"<pad>", "<unk>", "the", "cat", "sat", "mat"}));
    EXPECT_EQ(ids(words, "mat the"), (std::vector<std::int32_t>{5, 2}));
    const Tokenizer plain = of(TokenizerKind::Character, {"abca"}, false);
    EXPECT_EQ(plain.vocabulary(), (Texts{"a", "b", "c"}));
    EXPECT_EQ(ids(plain, "cab"), (std::vector<std::int32_t>{2, 0, 1}));
}

TEST(Tokenizer, CharactersAreCodePoints) {
    const std::string text = "aé注😀e\xCC\x81";
    const Tokenizer tokenizer = of(TokenizerKind::Character, {text});
    EXPECT_EQ(symbols(tokenizer, text), (Texts{"a", "é", "注", "😀", "e", "\xCC\x81"}));
    EXPECT_EQ(tokenizer.decode(ids(tokenizer, text)), text);
}

TEST(Tokenizer, WordsAndPunctuation) {
    const std::string text = "Don't stop — it’s 3.5 «naïve»\n(snake_case),日本語。x' 'y ¡no!";
    const Tokenizer tokenizer = of(TokenizerKind::Word, {text});
    EXPECT_EQ(symbols(tokenizer, text), (Texts{"Don't", "stop", "—",      "it’s", "3", ".", "5", "«", "naïve", "»",  "(", "snake_case",
                                               ")",     ",",    "日本語", "。",   "x", "'", "'", "y", "¡",     "no", "!"}));
    EXPECT_TRUE(tokenizer.encode(" \t\n\xC2\xA0\xE3\x80\x80").empty());
    EXPECT_EQ(tokenizer.decode(ids(tokenizer, "it’s 3")), "it’s 3");
}

TEST(Tokenizer, BytesAreBytes) {
    std::string every;
    for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
    const Tokenizer tokenizer = of(TokenizerKind::Byte, {every});
    EXPECT_EQ(tokenizer.size(), 258);
    EXPECT_EQ(tokenizer.decode(ids(tokenizer, every)), every);
    EXPECT_EQ(symbols(tokenizer, "é"), (Texts{"\xC3", "\xA9"}));
}

TEST(Tokenizer, StrayBytesAreFlaggedAndKept) {
    // T04, T09: a lone continuation byte, a truncated sequence, a surrogate, an overlong form, beyond U+10FFFF.
    for (const std::string bad : {"\x80", "\xE6\xB3", "\xED\xA0\x80", "\xC0\x80", "\xF4\x90\x80\x80", "\xFF"})
        for (const TokenizerKind kind : {TokenizerKind::Character, TokenizerKind::Word}) {
            const std::string text = "a" + bad;
            const Tokenizer tokenizer = of(kind, {text});
            const auto tokens = tokenizer.encode(text);
            ASSERT_EQ(tokens.size(), text.size());
            EXPECT_FALSE(tokens.front().invalid_utf8);
            for (std::size_t i = 1; i < tokens.size(); ++i) EXPECT_TRUE(tokens[i].invalid_utf8);
            if (kind == TokenizerKind::Character) {
                EXPECT_EQ(tokenizer.decode(ids(tokenizer, text)), text);
            }
        }
}

TEST(Tokenizer, UnknownSymbols) {
    const Tokenizer tokenizer = of(TokenizerKind::Word, {"a b"});
    const auto tokens = tokenizer.encode("a zebra <unk>");
    ASSERT_EQ(tokens.size(), 5U);
    EXPECT_EQ(tokens[1], (TextToken{1, true, false, 2, 7}));
    EXPECT_FALSE(tokens[0].unknown);
    for (std::size_t i = 2; i < 5; ++i) EXPECT_TRUE(tokens[i].unknown) << "the text \"<unk>\" is three symbols";
    EXPECT_EQ(tokenizer.decode(std::vector<std::int32_t>{2, 1, 0}), "a <unk> <pad>");
    EXPECT_THROW(of(TokenizerKind::Word, {"a b"}, false).encode("a c"), ConfigError);
}

TEST(Tokenizer, EmptyTextHasNoTokens) {
    for (const TokenizerKind kind : {TokenizerKind::Character, TokenizerKind::Word, TokenizerKind::Byte}) {
        EXPECT_EQ(of(kind, {""}).size(), 2);
        EXPECT_EQ(of(kind, {}, false).size(), 0);
        EXPECT_TRUE(of(kind, {"a"}).encode("").empty());
    }
}

TEST(Tokenizer, RefusesAbsurdSizes) {
    const std::string huge(kMaxTextBytes + 1, 'a');
    EXPECT_THROW(of(TokenizerKind::Byte, {"a"}).encode(huge), ConfigError);
    EXPECT_THROW(of(TokenizerKind::Word, {huge}), ConfigError);
    std::string many;
    for (std::size_t i = 0; i < kMaxVocabulary; ++i) many += std::to_string(i) + " ";
    EXPECT_THROW(of(TokenizerKind::Word, {many}), ConfigError);
}

TEST(Tokenizer, RefusesIdsOutsideTheVocabulary) {
    const Tokenizer tokenizer = of(TokenizerKind::Word, {"a b"});
    EXPECT_THROW(tokenizer.decode(std::vector<std::int32_t>{4}), Error);
    EXPECT_THROW(tokenizer.decode(std::vector<std::int32_t>{-1}), Error);
}

TEST(Tokenizer, StoredVocabularyComesBack) {
    const std::string text = "one, two 3";
    for (const TokenizerKind kind : {TokenizerKind::Character, TokenizerKind::Word, TokenizerKind::Byte})
        for (const bool special : {true, false}) {
            const Tokenizer first = of(kind, {text}, special);
            const Tokenizer second = Tokenizer::from_vocabulary(kind, first.vocabulary(), special);
            EXPECT_EQ(second.encode(text), first.encode(text));
        }
    const auto refused = [](TokenizerKind kind, const Texts& vocabulary, bool special) {
        EXPECT_THROW(Tokenizer::from_vocabulary(kind, vocabulary, special), ConfigError) << testing::PrintToString(vocabulary);
    };
    refused(TokenizerKind::Word, {"a", "a"}, false);
    refused(TokenizerKind::Word, {""}, false);
    refused(TokenizerKind::Word, {"a b"}, false);
    refused(TokenizerKind::Word, {" "}, false);
    refused(TokenizerKind::Character, {"ab"}, false);
    refused(TokenizerKind::Byte, {"é"}, false);
    refused(TokenizerKind::Word, {"a"}, true);
    refused(TokenizerKind::Word, {"<unk>", "<pad>", "a"}, true);
}

TEST(Tokenizer, AnyBytesAreCoveredByTheirTokens) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        std::string text(random() % 40, '\0');
        for (char& c : text) c = static_cast<char>(random() % 3 != 0 ? random() % 128 : random() % 256);
        for (const TokenizerKind kind : {TokenizerKind::Character, TokenizerKind::Word, TokenizerKind::Byte}) {
            const Tokenizer tokenizer = of(kind, {text});
            std::size_t end = 0;
            for (const TextToken& token : tokenizer.encode(text)) {
                EXPECT_GE(token.begin, end);
                EXPECT_GT(token.end, token.begin);
                EXPECT_FALSE(token.unknown);
                EXPECT_EQ(tokenizer.vocabulary().at(static_cast<std::size_t>(token.id)), text.substr(token.begin, token.end - token.begin));
                end = token.end;
            }
            EXPECT_LE(end, text.size());
            if (kind != TokenizerKind::Word) {
                EXPECT_EQ(tokenizer.decode(ids(tokenizer, text)), text);
            }
        }
    }
}

TEST(TokenBatch, PadsToTheLongest) {
    const Tokenizer tokenizer = of(TokenizerKind::Word, {"a b c"});
    const std::vector<std::vector<TextToken>> sequences = {tokenizer.encode("b"), tokenizer.encode("c b a"), {}};
    const TokenBatch batch = make_batch(sequences, tokenizer.pad_id());
    EXPECT_EQ(batch.length, 3);
    EXPECT_EQ(batch.lengths, (std::vector<std::int64_t>{1, 3, 0}));
    EXPECT_EQ(batch.ids, (std::vector<std::int32_t>{3, 0, 0, 4, 3, 2, 0, 0, 0}));
}

TEST(TokenBatch, RefusesNothingAndTooMuch) {
    EXPECT_THROW(make_batch({}, 0), ConfigError);
    std::vector<std::vector<TextToken>> sequences(std::size_t{1} << 14);
    sequences[0].resize((std::size_t{1} << 12) + 1);
    EXPECT_THROW(make_batch(sequences, 0), ConfigError);
}

}  // namespace
}  // namespace attn
