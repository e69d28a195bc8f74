/// Tokenizers made of the texts of a model's ids.

#include "engine/tokenizer/known_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/tensor/error.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"

namespace attn {
namespace {

using testing::ElementsAre;

std::vector<std::int32_t> ids_of(const ModelTokenizer& tokenizer, const std::string& text) {
    std::vector<std::int32_t> ids;
    for (const EncodedToken& token : tokenizer.encode(text)) ids.push_back(token.id);
    return ids;
}

std::shared_ptr<const ModelTokenizer> made_of(const std::vector<std::string>& words) {
    return parse_tokenizer_json(tokenizer_json_of(words), "tokenizer.json");
}

TEST(KnownWords, CharactersAreReadOneByOne) {
    const auto tokenizer = made_of({" ", "a", "é", "", "語", "\n", "<eos>"});
    EXPECT_THAT(ids_of(*tokenizer, "a é語\n<eos>a"), ElementsAre(1, 0, 2, 4, 5, 6, 1));
    EXPECT_THAT(ids_of(*tokenizer, "a<3>a"), ElementsAre(1, 3, 1)) << "an id without a text is typed as a number";
    EXPECT_EQ(tokenizer->decode(std::vector<std::int32_t>{1, 0, 2, 4, 3}), "a é語<3>");
    EXPECT_THROW(tokenizer->encode("b"), ConfigError);
}

TEST(KnownWords, WordsAreReadBetweenWhiteSpace) {
    const auto tokenizer = made_of({"", "the", "cat", "<pad>", "sat", "don't", "."});
    EXPECT_THAT(ids_of(*tokenizer, "the cat  sat . <pad> don't <0>"), ElementsAre(1, 2, 4, 6, 3, 5, 0));
    EXPECT_EQ(tokenizer->decode(std::vector<std::int32_t>{1, 2, 0}), "the cat <0>");
    EXPECT_THROW(tokenizer->encode("the dog"), ConfigError);
}

TEST(KnownWords, WhatCannotBeReadMakesNoTokenizer) {
    EXPECT_EQ(tokenizer_json_of({}), "");
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"", ""}, {"cat", "cat"}, {"the cat", "sat"}, {"cat", " sat"}, {"cat", "", "<1>"}, {"cat", "\xff"}, {"a", "the cat"}})
        EXPECT_EQ(tokenizer_json_of(words), "");
    EXPECT_NE(tokenizer_json_of(std::vector<std::string>{"cat", "sat"}), "");
}

TEST(KnownWords, EveryIdIsReadBackAsItself) {
    std::mt19937 random(3);
    for (const bool characters : {true, false})
        for (int round = 0; round < 20; ++round) {
            std::set<std::string> all;
            const std::size_t count = 1 + random() % 40;
            while (all.size() < count) {
                std::string word;
                for (std::size_t i = characters ? 1 : 1 + random() % 5; i > 0; --i) word += static_cast<char>('!' + random() % 94);
                all.insert(word);
            }
            std::vector<std::string> words(all.begin(), all.end());
            if (round % 2 == 0) words.insert(words.begin() + static_cast<std::ptrdiff_t>(random() % words.size()), "");
            const auto tokenizer = made_of(words);
            std::vector<std::int32_t> ids;
            for (int i = 0; i < 30; ++i) ids.push_back(static_cast<std::int32_t>(random() % words.size()));
            EXPECT_EQ(ids_of(*tokenizer, tokenizer->decode(ids)), ids);
        }
}

}  // namespace
}  // namespace attn
