/// One's own sentence in the session: words that the model has never read stand as typed, and the softmax is over the words of the text.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/session/document/document_json.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/document/writing.hpp"
#include "app/session/session.hpp"
#include "app/session/states/places_in_use.hpp"
#include "app/session/values/next_words.hpp"
#include "app/session/values/sample.hpp"
#include "engine/model/transformer.hpp"
#include "engine/reference/verify.hpp"

namespace attn::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Texts = std::vector<std::string>;

constexpr const char* kOwnSentence = "Tom gives a red scooter to Sofia because she is sad. Who has the scooter?";
constexpr std::int64_t kKnownWords = 205;

std::vector<std::string> shown_chips(const std::vector<Token>& tokens) {
    std::vector<std::string> texts;
    for (const Token& token : tokens) texts.push_back(token.text);
    return texts;
}

std::string known_and_new_words(const Snapshot& snapshot) {
    std::string words;
    for (const std::string& word : snapshot.vocabulary) words += word + " ";
    return words;
}

class OwnSentence : public testing::Test {
protected:
    void type(Texts texts) {
        session.apply({command::SetTexts{std::move(texts), {}}, ""});
        snapshot = session.wait();
        ASSERT_EQ(snapshot->problem, "");
    }
    const Tensor<float>& chances() const { return snapshot->trace->find({Stage::Probabilities, -1})->value; }
    Session session{open_preset("stories"), [] {}};
    std::shared_ptr<const Snapshot> snapshot;
};

TEST_F(OwnSentence, IsAnsweredWithItsOwnName) {
    type({kOwnSentence});
    const auto words = session.get(facet::NextWords{0, {}});
    ASSERT_FALSE(words->likeliest.empty());
    EXPECT_EQ(words->likeliest.front().text, "Sofia");
    EXPECT_GT(words->likeliest.front().predicted, 0.99);
    EXPECT_EQ(snapshot->trace->config.vocab_size, kKnownWords + 2);
    EXPECT_EQ(chances().shape()[2].size, kKnownWords + 2);
    EXPECT_EQ(snapshot->vocabulary.size(), static_cast<std::size_t>(kKnownWords + 2));
    EXPECT_THAT(known_and_new_words(*snapshot), HasSubstr("scooter Sofia"));
    EXPECT_THAT(known_and_new_words(*snapshot), testing::Not(HasSubstr("<new")));
    const std::vector<Token>& chips = snapshot->tokens.front();
    EXPECT_EQ(chips[4].text, "scooter");
    EXPECT_EQ(chips[4].place, 1);
    EXPECT_EQ(chips[6].place, 2);
    EXPECT_EQ(chips[0].place, 0);
    EXPECT_EQ(chips[15].id, chips[4].id) << "the same word is the same";
    EXPECT_TRUE(reference::verify(*snapshot->trace).ok);
    const double sum = std::accumulate(chances().values().end() - kKnownWords - 2, chances().values().end(), 0.0);
    EXPECT_NEAR(sum, 1, 1e-5);
}

TEST_F(OwnSentence, PlacesWithoutAWordTakeNoPart) {
    type({"Tom gives a red ball to Lily because she is sad. Who has the ball?"});
    EXPECT_EQ(chances().shape()[2].size, kKnownWords);
    // Against all places in double precision.
    const auto& whole = session.document().shipped->checkpoint.parameters;
    EXPECT_EQ(whole->config().vocab_size, kKnownWords + 8);
    const Trace<float> all = trace_forward<float>(whole, snapshot->trace->tokens, {}, snapshot->trace->settings);
    const float* logits = all.find({Stage::Logits, -1})->value.data();
    for (std::int64_t t = 0; t < snapshot->trace->tokens.length; ++t) {
        double sum = 0;
        for (std::int64_t v = 0; v < kKnownWords; ++v) sum += std::exp(static_cast<double>(logits[t * (kKnownWords + 8) + v]));
        for (std::int64_t v = 0; v < kKnownWords; ++v)
            EXPECT_NEAR(chances().data()[t * kKnownWords + v], std::exp(static_cast<double>(logits[t * (kKnownWords + 8) + v])) / sum,
                        1e-5);
    }
}

TEST_F(OwnSentence, ReadsWordsInAnotherCaseAsTheKnownOnes) {
    type({"TOM has tom's well-known KITE"});
    EXPECT_THAT(shown_chips(snapshot->tokens[0]), ElementsAre("Tom", "has", "tom's", "well-known", "kite"));
    EXPECT_EQ(snapshot->tokens[0][0].typed, "TOM");
    EXPECT_EQ(snapshot->tokens[0][4].typed, "KITE");
    EXPECT_EQ(snapshot->tokens[0][1].typed, "");
    EXPECT_EQ(snapshot->tokens[0][2].typed, "");
    EXPECT_EQ(session.document().texts.front(), "TOM has tom's well-known KITE") << "what was typed stays";
}

TEST_F(OwnSentence, NineNewWordsFindEightPlaces) {
    type({"a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a9"});
    EXPECT_EQ(snapshot->trace->config.vocab_size, kKnownWords + 8);
    EXPECT_EQ(snapshot->trace->parameters, session.document().shipped->checkpoint.parameters) << "all of the model";
    const std::vector<Token>& chips = snapshot->tokens.front();
    EXPECT_EQ(chips[8].text, "a9");
    for (const std::size_t at : {7U, 8U, 9U, 10U}) EXPECT_EQ(chips[at].place, 8);
    EXPECT_EQ(snapshot->vocabulary[kKnownWords + 7], "a8");
}

TEST_F(OwnSentence, TextsOfABatchShareTheirWords) {
    type({"Lily has a scooter .", "Tom has a robot and a scooter ."});
    EXPECT_EQ(snapshot->trace->config.vocab_size, kKnownWords + 2);
    EXPECT_EQ(snapshot->tokens[0][3].id, snapshot->tokens[1][6].id);
    EXPECT_EQ(snapshot->tokens[1][3].place, 2);
}

TEST_F(OwnSentence, GoesOnInItsOwnWords) {
    type({"Tom gives a red scooter to Sofia because she is sad . Who has the scooter ?"});
    session.apply({command::WriteOn{0, 4}, ""});
    session.wait_for_writing();
    snapshot = session.wait();
    EXPECT_EQ(snapshot->tokens[0][17].text, "Sofia");
    EXPECT_EQ(snapshot->tokens[0][17].place, 2);
    EXPECT_THAT(whole_texts(session.document()).front(), HasSubstr("scooter ? Sofia"));
    const auto sample = session.get(facet::Sample{{.temperature = 0, .tokens = 3}});
    EXPECT_THAT(sample->text, testing::Not(HasSubstr("new")));
    // Saved and opened again, everything is as it was.
    const Document back = document_from_json(document_to_json(session.document()), "test");
    Session other(back, [] {});
    EXPECT_EQ(shown_chips(other.wait()->tokens[0]), shown_chips(snapshot->tokens[0]));
    const auto before = chances().values(), after = other.wait()->trace->find({Stage::Probabilities, -1})->value.values();
    EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin(), after.end()));
}

TEST_F(OwnSentence, OfStatesWithAsManyNewWordsSharesTheParameters) {
    type({"Lily has a scooter ."});
    const auto one = snapshot->trace->parameters;
    type({"Lily has a robot ."});
    EXPECT_EQ(snapshot->trace->parameters, one);
    type({"Lily has a robot dinosaur ."});
    EXPECT_NE(snapshot->trace->parameters, one);
    EXPECT_EQ(with_places_in_use(session.document().shipped->checkpoint.parameters, kKnownWords + 1), one);
}

TEST_F(OwnSentence, BelongsToATrainedModelOnly) {
    type({"Lily has a scooter ."});
    Config config = session.document().config;
    config.num_layers = 1;
    session.apply({command::SetConfig{config}, ""});
    snapshot = session.wait();
    EXPECT_EQ(snapshot->problem, "");
    EXPECT_EQ(snapshot->trace->config.vocab_size, kKnownWords + 1) << "random weights have the word in their list";
    EXPECT_EQ(snapshot->tokens[0][3].place, 0);
    EXPECT_EQ(snapshot->tokens[0][3].text, "scooter");
    // Other models know their words and no others, as ever.
    session.apply({command::OpenPreset{"addition"}, ""});
    session.wait();
    session.apply({command::SetTexts{{"cat"}, {}}, ""});
    EXPECT_THAT(session.wait()->problem, HasSubstr("is not among them"));
}

}  // namespace
}  // namespace attn::app
