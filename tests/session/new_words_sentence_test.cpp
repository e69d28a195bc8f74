/// What is said of new words, and the known ones that may be meant while a word is typed.

#include "app/session/document/new_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <random>

#include "app/session/document/presets.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Texts = std::vector<std::string>;

constexpr const char* kScooter = "Tom gives a red scooter to Sofia because she is sad. Who has the scooter?";

Document document_about(Texts texts) {
    Document document = open_preset("stories");
    document.texts = std::move(texts);
    return document;
}

TEST(NewWordsSentence, NamesThem) {
    EXPECT_EQ(new_words_sentence(Texts{}, 8), "");
    EXPECT_EQ(new_words_sentence(Texts{"scooter"}, 8),
              "“scooter” is new to this model: it can follow it through the story, but it has only "
              "read stories of this kind.");
    EXPECT_EQ(new_words_sentence(document_about({kScooter})),
              "“scooter” and “Sofia” are new to this model: it can follow them through the story, but it "
              "has only read stories of this kind.");
    EXPECT_THAT(new_words_sentence(Texts{"a", "b", "c"}, 8), HasSubstr("“a”, “b” and “c” are new"));
    EXPECT_THAT(new_words_sentence(Texts{"a", "b", "c", "d", "e"}, 8), HasSubstr("“a”, “b” and 3 others are new"));
    EXPECT_THAT(new_words_sentence(document_about({"a1 a2 a3 a4 a5 a6 a7 a8 a9"})),
                HasSubstr("it can tell 8 new words apart and reads “a8” and those after it as one, but"));
    EXPECT_EQ(new_words_sentence(document_about({"Tom has the ball."})), "");
    EXPECT_EQ(new_words_sentence(open_preset("self-attention")), "");
    EXPECT_EQ(new_words_of(document_about({"scooter", "Sofia scooter"})), (Texts{"scooter", "Sofia"}));
}

TEST(Completions, BeginWithWhatWasTyped) {
    const Texts known = {"The", "the", "Tom", "tree", "too", "to", "tea", "thirsty", "."};
    const auto words = [](const std::vector<Completion>& found) {
        Texts all;
        for (const Completion& one : found) all.push_back(one.word);
        return all;
    };
    EXPECT_THAT(words(completions("t", known)), ElementsAre("tea", "The", "the", "thirsty", "to"));
    EXPECT_THAT(words(completions("TO", known)), ElementsAre("to", "Tom", "too"));
    EXPECT_TRUE(completions("", known).empty());
    EXPECT_TRUE(completions("x", known).empty());
    const std::vector<float> chances = {0.1F, 0.2F, 0.3F, 0, 0.25F, 0.01F, 0, 0, 0.14F};
    EXPECT_THAT(words(completions("t", known, chances)), ElementsAre("Tom", "too", "the", "The", "to"));
    EXPECT_EQ(completions("to", known, chances, 1), (std::vector<Completion>{{2, "Tom", 0.3F}}));
    EXPECT_THROW(completions("t", known, std::span(chances).first(3)), Error);
}

TEST(Completions, AreTheBestOfAllThatFit) {
    std::mt19937 random(5);
    const auto below = [&](int count) { return std::uniform_int_distribution<int>(0, count - 1)(random); };
    for (int round = 0; round < 300; ++round) {
        Texts known;
        std::vector<float> chances;
        for (int i = 0, count = below(12); i < count; ++i) {
            std::string word;
            for (int letters = 1 + below(3); letters > 0; --letters) word += "abAB"[below(4)];
            if (std::find(known.begin(), known.end(), word) != known.end()) continue;
            known.push_back(word);
            chances.push_back(static_cast<float>(below(4)) / 4);
        }
        const std::string typed(1, "abAB"[below(4)]);
        const auto lower = [](std::string text) {
            for (char& c : text) c = static_cast<char>(std::tolower(c));
            return text;
        };
        const auto found = completions(typed, known, chances, 3);
        EXPECT_LE(found.size(), 3U);
        std::size_t fit = 0;
        for (std::size_t id = 0; id < known.size(); ++id) {
            if (lower(known[id])[0] != lower(typed)[0]) continue;
            ++fit;
            const bool named = std::any_of(found.begin(), found.end(), [&](const Completion& one) { return one.word == known[id]; });
            if (!named) {
                EXPECT_LE(chances[id], *found.back().chance) << "what is left out is no better than what is shown";
            }
        }
        EXPECT_EQ(found.size(), std::min<std::size_t>(fit, 3));
        for (std::size_t i = 0; i < found.size(); ++i) {
            EXPECT_EQ(known[static_cast<std::size_t>(found[i].id)], found[i].word);
            if (i > 0) {
                EXPECT_GE(*found[i - 1].chance, *found[i].chance);
            }
        }
    }
}

}  // namespace
}  // namespace attn::app
