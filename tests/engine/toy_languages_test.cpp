/// The toy languages against a dictionary and a parser of our own.

#include "engine/grammar/toy_languages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "engine/tokenizer/tokenizer.hpp"
#include "tests/support/toy_alignment.hpp"

namespace attn {
namespace {

using testing_support::toy_alignment;
using testing_support::toy_dictionary;

using Sentence = std::vector<std::string>;

template <class Words>
Sentence words_of(const Words& words) {
    Sentence texts;
    for (const std::int32_t id : words.ids()) texts.push_back(toy_vocabulary().at(static_cast<std::size_t>(id)));
    return texts;
}

struct Drawn {
    Sentence english, answer;
    std::vector<int> aligned;
};

std::vector<Drawn> draw_many(std::uint64_t seed, int count) {
    std::vector<Drawn> all;
    for (int i = 0; i < count; ++i) {
        Draws draws(seed, static_cast<std::uint64_t>(i));
        const SentencePair pair = draw_sentence_pair(draws);
        all.push_back({words_of(pair.english),
                       words_of(pair.answer),
                       {pair.aligned.begin(), pair.aligned.begin() + static_cast<std::ptrdiff_t>(pair.answer.count)}});
    }
    return all;
}

std::string joined(const Sentence& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

TEST(ToyLanguages, EveryWordIsAlignedAsADictionarySays) {
    int unaligned = 0, twice = 0;
    for (const Drawn& pair : draw_many(1, 5000)) {
        ASSERT_EQ(pair.aligned, toy_alignment(pair.english, pair.answer)) << joined(pair.english) << " = " << joined(pair.answer);
        unaligned += static_cast<int>(std::count(pair.aligned.begin(), pair.aligned.end(), -1));
        for (std::size_t i = 1; i < pair.aligned.size(); ++i)
            twice += pair.aligned[i] >= 0 && pair.aligned[i] == pair.aligned[i - 1] ? 1 : 0;
    }
    EXPECT_EQ(unaligned, 5000) << "only the mark of the object renders nothing";
    EXPECT_GT(twice, 1000) << "some words become two";
}

/// What the dictionary would not detect: agreement and word order, checked in the answer alone.
TEST(ToyLanguages, AdjectivesAgreeWithTheirNounAndVerbsWithTheirSubject) {
    static const std::set<std::string> kAdjectiveStems{"tim", "gor", "ruv", "bel", "joz", "zup", "mol", "yun"};
    static const std::set<std::string> kSeconds{"skolu", "maru", "libru"};
    const auto ending_from = [](const std::string& word) { return word.substr(word.find_last_of("ao")); };
    int agreements = 0;
    for (const Drawn& pair : draw_many(2, 3000)) {
        const Sentence& answer = pair.answer;
        std::vector<std::string> nouns;  // subject, object, place
        for (std::size_t i = 0; i < answer.size(); ++i) {
            const std::string& word = answer[i];
            const bool noun_like =
                (word.back() == 'a' || word.back() == 'o' || word.ends_with("an") || word.ends_with("on")) && word.size() > 3;
            if (!noun_like) continue;
            if (!kAdjectiveStems.contains(word.substr(0, 3))) {
                nouns.push_back(word);
                continue;
            }
            const std::string& before = answer.at(i - 1);
            const std::string& noun = kSeconds.contains(before) ? answer.at(i - 2) : before;
            EXPECT_EQ(ending_from(word), ending_from(noun)) << joined(answer);
            ++agreements;
        }
        ASSERT_GE(nouns.size(), 2U) << joined(answer);
        const std::string& verb = answer.at(answer.size() - 2);
        EXPECT_EQ(verb.ends_with("nt"), nouns.front().ends_with("n")) << joined(pair.english) << " = " << joined(answer);
        EXPECT_EQ(answer.back(), pair.english.back());
        const auto mark = std::find(answer.begin(), answer.end(), "en");
        ASSERT_NE(mark, answer.end());
    }
    EXPECT_GT(agreements, 2000);
}

TEST(ToyLanguages, NothingComesTwiceAndTheRoomSuffices) {
    static const std::set<std::string> kMayRepeat{"the", "a", "two", "three"};
    std::size_t longest_english = 0, longest_answer = 0;
    std::set<std::string> seen;
    for (const Drawn& pair : draw_many(3, 20000)) {
        std::set<std::string> words;
        for (const std::string& word : pair.english)
            EXPECT_TRUE(kMayRepeat.contains(word) || words.insert(word).second) << joined(pair.english);
        longest_english = std::max(longest_english, pair.english.size());
        longest_answer = std::max(longest_answer, pair.answer.size());
        seen.insert(pair.english.begin(), pair.english.end());
        seen.insert(pair.answer.begin(), pair.answer.end());
    }
    EXPECT_EQ(longest_english, SentencePair::kLongestEnglish);
    EXPECT_LE(longest_answer, SentencePair::kLongestAnswer);
    EXPECT_GE(longest_answer, SentencePair::kLongestAnswer - 1) << "one in some hundred thousand is as long as there is room for";
    const std::set<std::string> vocabulary(toy_vocabulary().begin(), toy_vocabulary().end());
    EXPECT_EQ(vocabulary.size(), toy_vocabulary().size()) << "no word has two ids";
    seen.insert(kAnswerBegins);
    EXPECT_EQ(seen, vocabulary) << "every word is said";
}

TEST(ToyLanguages, NoWordBelongsToBoth) {
    std::set<std::string> english, other;
    for (const auto& [word, renderings] : toy_dictionary()) {
        english.insert(word);
        other.insert(renderings.begin(), renderings.end());
    }
    for (const std::string& word : other) EXPECT_TRUE(!english.contains(word) || word == "." || word == "!") << word;
    Tokenizer::from_vocabulary(TokenizerKind::Word, toy_vocabulary(), false);  // refuses words that are not single tokens
}

TEST(ToyLanguages, SayWhatTheirHeaderSays) {
    const std::string english = "the small cats often remembered a red fox near the library .";
    const std::string answer = "ratu le miran timan vuro ruvo en le domo libru kol mem torunt .";
    const auto split = [](const std::string& text) {
        Sentence words;
        std::size_t at = 0;
        for (std::size_t end = 0; end != std::string::npos; at = end + 1) {
            end = text.find(' ', at);
            words.push_back(text.substr(at, end - at));
        }
        return words;
    };
    EXPECT_EQ(toy_alignment(split(english), split(answer)), (std::vector<int>{3, 0, 2, 1, 7, 6, -1, 9, 10, 10, 8, 4, 4, 11}));
}

TEST(ToyLanguages, TheAlignmentsOracleSeesAnError) {
    const Drawn pair = draw_many(1, 1).front();
    Sentence wrong = pair.answer;
    std::swap(wrong[0], wrong[1]);
    EXPECT_NE(toy_alignment(pair.english, wrong), pair.aligned);
}

}  // namespace
}  // namespace attn
