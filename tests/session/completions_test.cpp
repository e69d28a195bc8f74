/// The words that may be meant while one is typed, and all words that a model knows.

#include "app/session/values/completions.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "app/session/document/new_words.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/session/values/next_words.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/grammar/story_words.hpp"

namespace attn::app {
namespace {

using testing::ElementsAre;
using Texts = std::vector<std::string>;

class CompletionsTest : public testing::Test {
protected:
    void read(const std::string& preset, Texts texts) {
        Document document = open_preset(preset);
        document.texts = std::move(texts);
        session_ = std::make_unique<Session>(std::move(document), [] {});
        session_->wait();
    }
    std::vector<Completion> found(const std::string& before, const std::string& typed, std::int64_t sequence = 0, bool source = false) {
        return session_->get(facet::Completions{{sequence, source}, before, typed})->best;
    }
    static Texts words(const std::vector<Completion>& found) {
        Texts all;
        for (const Completion& one : found) all.push_back(one.word);
        return all;
    }
    std::unique_ptr<Session> session_;
};

TEST_F(CompletionsTest, TheLikeliestComeFirstWhereTheTextBeforeIsRead) {
    read("stories", {"Tom gives a r"});
    const std::vector<Completion> best = found("Tom gives a ", "r");
    ASSERT_FALSE(best.empty());
    EXPECT_EQ(best.front().word, "red") << "looks of toys follow the article";
    // The same chances as those of the next words after the text before, by another way.
    read("stories", {"Tom gives a"});
    std::map<std::string, double> predicted;
    for (const NextWord& word : session_->get(facet::NextWords{0, {}})->likeliest) predicted[word.text] = word.predicted;
    ASSERT_TRUE(predicted.contains("red"));
    ASSERT_TRUE(best.front().chance.has_value());
    EXPECT_NEAR(*best.front().chance, predicted["red"], 1e-6);
    for (std::size_t i = 1; i < best.size(); ++i) EXPECT_LE(*best[i].chance, *best[i - 1].chance);
}

/// Before the first letter of the next word has been read.
TEST_F(CompletionsTest, TheLikeliestComeFirstAtTheEndOfWhatIsRead) {
    read("stories", {"Tom gives a"});
    const std::vector<Completion> best = found("Tom gives a ", "r");
    ASSERT_FALSE(best.empty());
    ASSERT_TRUE(best.front().chance.has_value());
    const auto predicted = session_->get(facet::NextWords{0, {}});
    const auto same = std::find_if(predicted->likeliest.begin(), predicted->likeliest.end(),
                                   [&](const NextWord& word) { return word.text == best.front().word; });
    ASSERT_NE(same, predicted->likeliest.end());
    EXPECT_NEAR(*best.front().chance, same->predicted, 1e-6);
}

TEST_F(CompletionsTest, ByTheAlphabetWhereItIsNot) {
    read("stories", {"Lily has the b"});
    const std::vector<Completion> best = found("Tom gives a ", "b");
    ASSERT_EQ(best.size(), kMostCompletions);
    EXPECT_TRUE(std::none_of(best.begin(), best.end(), [](const Completion& one) { return one.chance.has_value(); }));
    EXPECT_THAT(words(best), ElementsAre("ball", "bark", "barks", "bath", "beach"));
    EXPECT_THAT(words(found("", "b")), ElementsAre("ball", "bark", "barks", "bath", "beach")) << "nothing stands before it";
}

TEST_F(CompletionsTest, BeginWithWhatWasTypedInWhateverCaseButForTheWordItself) {
    read("stories", {"Lily"});
    EXPECT_THAT(words(found("", "lIl")), ElementsAre("Lily"));
    EXPECT_TRUE(found("", "Lily").empty());
    EXPECT_TRUE(found("", "").empty());
    EXPECT_TRUE(found("", "zq").empty());
    EXPECT_THAT(words(found("", "tom")), testing::Contains("Tom"));
}

/// What is new to the model but stands in the text already is worth offering; a place without a word is not.
TEST_F(CompletionsTest, KnowTheNewWordsOfTheText) {
    read("stories", {"Sofia has a scooter. Who has the s"});
    EXPECT_THAT(words(found("Sofia has a scooter. Who has the ", "sco")), ElementsAre("scooter"));
    EXPECT_TRUE(found("", "<new").empty());
}

TEST_F(CompletionsTest, AnEncodersTextHasNoNextWord) {
    read("translation", open_preset("translation").texts);
    const std::vector<Completion> best = found("", "c", 0, true);
    ASSERT_FALSE(best.empty());
    EXPECT_FALSE(best.front().chance.has_value());
}

TEST(KnownWords, OfTheStoriesAreSortedByKind) {
    const Document document = open_preset("stories");
    const KnownWords words = known_words_of(document);
    std::size_t all = 0;
    std::map<std::string, Texts> of_kind;
    for (const KnownWords::Kind& kind : words.kinds) {
        all += kind.words.size();
        of_kind[kind.name] = kind.words;
    }
    EXPECT_EQ(words.kinds.size(), kStoryWordsNames.size());
    EXPECT_EQ(all, known_words(document).size()) << "each word once";
    EXPECT_THAT(of_kind["names"], testing::IsSupersetOf({"Lily", "Tom"}));
    EXPECT_THAT(of_kind["toys"], testing::Contains("ball"));
    EXPECT_THAT(of_kind["looks"], testing::Contains("red"));
    EXPECT_THAT(of_kind["places"], testing::IsSupersetOf({"garden", "tree"}));
    EXPECT_THAT(of_kind["animals"], testing::IsSupersetOf({"dog", "mice"}));
    EXPECT_THAT(of_kind["feelings"], testing::IsSupersetOf({"sad", "thirsty"}));
    EXPECT_THAT(of_kind["other"], testing::IsSupersetOf({"The", "gives", "."}));
}

TEST(KnownWords, AreThoseOfAFixedList) {
    EXPECT_TRUE(known_words(open_preset("gpt-tiny")).empty()) << "it reads any text";
    EXPECT_TRUE(known_words(open_preset("addition")).empty()) << "it reads characters";
    EXPECT_EQ(known_words_of(open_preset("translation")).kinds.size(), 1U);
    EXPECT_EQ(reading_words(open_preset("stories")), "reads any word");
    EXPECT_EQ(reading_words(open_preset("gpt-tiny")), "reads any word");
    EXPECT_EQ(reading_words(open_preset("addition")), "knows 14 characters");
    EXPECT_EQ(reading_words(open_preset("translation")), fmt::format("knows {} words", open_preset("translation").vocabulary.size()));
}

}  // namespace
}  // namespace attn::app
