/// Words that are in no list: how they are read, how stories to train on get them, and what a model without empty places computes.

#include "engine/tasks/new_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "engine/grammar/stories.hpp"
#include "engine/model/transformer.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/reference/verify.hpp"
#include "engine/tasks/dataset.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/train/run_json.hpp"
#include "engine/weights/first_ids.hpp"

namespace attn {
namespace {

using testing::ElementsAre;
using Texts = std::vector<std::string>;

Tokenizer with_places(Texts words, std::int64_t places) {
    for (std::int64_t place = 1; place <= places; ++place) words.push_back(place_name(place));
    return Tokenizer::from_vocabulary(TokenizerKind::Word, words, false);
}

const Texts kFewWords = {"Tom", "the", "The", "She", "has", "who", "Who", ".", "?"};

std::vector<std::int32_t> ids_in(const Tokenizer& tokenizer, std::string_view text) {
    std::vector<std::int32_t> ids;
    for (const TextToken& token : tokenizer.encode(text)) ids.push_back(token.id);
    return ids;
}

TEST(NewWords, TakePlacesInTheOrderInWhichTheyAppear) {
    const Tokenizer list = with_places(kFewWords, 3);
    EXPECT_EQ(list.size(), 12);
    EXPECT_EQ(list.places(), 3);
    const std::string text = "Sofia has the scooter . Who has the scooter ? Sofia .";
    const Texts found = list.new_words({&text, 1});
    EXPECT_THAT(found, ElementsAre("Sofia", "scooter"));
    const Tokenizer reads = list.with_new_words(found);
    EXPECT_EQ(reads.size(), 11) << "a place without a word is no id";
    EXPECT_THAT(ids_in(reads, text), ElementsAre(9, 4, 1, 10, 7, 6, 4, 1, 10, 8, 9, 7));
    EXPECT_EQ(ids_in(list, text), ids_in(reads, text));
    EXPECT_EQ(reads.decode(ids_in(reads, text)), text);
    const std::vector<TextToken> tokens = reads.encode(text);
    EXPECT_EQ(tokens[0].place, 1);
    EXPECT_EQ(tokens[1].place, 0);
    EXPECT_EQ(tokens[3].place, 2);
    EXPECT_FALSE(tokens[0].unknown);
}

TEST(NewWords, BelongToOneTextAtATime) {
    const Tokenizer list = with_places(kFewWords, 2);
    const Texts one = {"red kite"}, other = {"kite"};
    const Tokenizer reads = list.with_new_words(list.new_words(one));
    EXPECT_EQ(reads.new_words(other), other) << "what another text has brought along is not known";
    EXPECT_EQ(reads.with_new_words(other).vocabulary().back(), "kite");
    EXPECT_EQ(reads.with_new_words(other).size(), 10);
    EXPECT_THROW(list.with_new_words(other).encode("red"), ConfigError);
}

TEST(NewWords, ThatFindNoPlaceShareTheLastOne) {
    const Tokenizer list = with_places(kFewWords, 2);
    const Texts text = {"a b c d b a"};
    EXPECT_EQ(list.new_words(text).size(), 4U);
    const Tokenizer reads = list.with_new_words(list.new_words(text));
    EXPECT_EQ(reads.size(), 11);
    EXPECT_THAT(ids_in(reads, text.front()), ElementsAre(9, 10, 10, 10, 10, 9));
    EXPECT_EQ(reads.decode(ids_in(reads, "c")), "b");
}

TEST(NewWords, KnownWordsInAnotherCaseAreNotNew) {
    const Tokenizer list = with_places(kFewWords, 4);
    const Texts text = {"tom TOM THE sHe WHO Élan élan ÉLAN"};
    EXPECT_THAT(list.new_words(text), ElementsAre("Élan"));
    EXPECT_THAT(ids_in(list, text.front()), ElementsAre(0, 0, 1, 3, 5, 9, 9, 9)) << "lower case goes first";
    EXPECT_THAT(ids_in(list, "The the Who who"), ElementsAre(2, 1, 6, 5));
}

TEST(NewWords, KeepTheirApostrophesAndHyphens) {
    const Tokenizer list = with_places(kFewWords, 8);
    const Texts text = {"Tom's ice-cream - Anne-Marie’s well‑known e- -mail x--y"};
    EXPECT_THAT(list.new_words(text), ElementsAre("Tom's", "ice-cream", "-", "Anne-Marie’s", "well‑known", "e", "mail", "x", "y"));
    EXPECT_EQ(list.encode("ice-cream").size(), 1U);
    // As before where there are no places.
    const Texts plain = {"ice-cream"};
    EXPECT_EQ(Tokenizer(TokenizerKind::Word, plain).encode("ice-cream").size(), 3U);
    EXPECT_TRUE(Tokenizer(TokenizerKind::Word, plain).new_words(text).empty());
    EXPECT_THROW(with_places(kFewWords, 0).encode("scooter"), ConfigError);
    EXPECT_THROW(with_places(kFewWords, 0).encode("tom"), ConfigError);
}

TEST(NewWords, ReadEveryText) {
    std::mt19937 random(7);
    const auto below = [&](std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random); };
    for (int round = 0; round < 200; ++round) {
        const auto places = static_cast<std::int64_t>(1 + below(9));
        const Tokenizer list = with_places(kFewWords, places);
        // An oracle of its own: words between single spaces, numbered as they come.
        std::map<std::string, std::int32_t> first;
        std::vector<std::int32_t> expected;
        std::string text;
        for (std::size_t i = 0, count = 1 + below(30); i < count; ++i) {
            const bool known = below(2) == 0;
            const std::string word = known ? kFewWords[below(kFewWords.size())] : "w" + std::to_string(below(14));
            std::int32_t id = static_cast<std::int32_t>(std::find(kFewWords.begin(), kFewWords.end(), word) - kFewWords.begin());
            if (!known)
                id += std::min(first.emplace(word, static_cast<std::int32_t>(first.size())).first->second,
                               static_cast<std::int32_t>(places) - 1);
            expected.push_back(id);
            text += (i > 0 ? " " : "") + word;
        }
        EXPECT_EQ(ids_in(list, text), expected) << text;
        const Tokenizer reads = list.with_new_words(list.new_words({&text, 1}));
        EXPECT_EQ(ids_in(reads, text), expected) << text;
        EXPECT_EQ(reads.size(), static_cast<std::int64_t>(kFewWords.size()) + std::min<std::int64_t>(places, std::ssize(first)));
        std::string bytes;
        for (std::size_t i = 0; i < 40; ++i) bytes += static_cast<char>(below(256));
        for (const TextToken& token : list.encode(bytes)) EXPECT_LT(token.id, list.size());
    }
}

TEST(NewWords, PlacesAreTheLastIdsInOrder) {
    const auto refused = [](const Texts& vocabulary) {
        EXPECT_THROW(Tokenizer::from_vocabulary(TokenizerKind::Word, vocabulary, false), ConfigError) << testing::PrintToString(vocabulary);
    };
    refused({"a", "<new 2>"});
    refused({"a", "<new 2>", "<new 1>"});
    refused({"<new 1>", "a"});
    refused({"a", "<new 1>", "<new 1>"});
    EXPECT_THROW(with_places({"a"}, kMostPlaces + 1), ConfigError);
    EXPECT_NO_THROW(with_places({"a"}, kMostPlaces));
    EXPECT_THROW(Tokenizer::from_vocabulary(TokenizerKind::Character, Texts{"a", "<new 1>"}, false), ConfigError);
    EXPECT_TRUE(has_places(Texts{"a", "<new 1>"}));
    EXPECT_FALSE(has_places(Texts{"<new 1>", "a"}));
    EXPECT_FALSE(has_places({}));
}

TaskSettings stories_with(NewWords words) {
    TaskSettings task;
    task.kind = TaskKind::Stories;
    task.length = 56;
    task.new_words = words;
    return task;
}

std::vector<std::int32_t> drawn_story(Draws& draws) {
    std::vector<std::int32_t> story(57);
    story.resize(static_cast<std::size_t>(stories().tell(draws, story)));
    return story;
}

TEST(NewWords, StandForTheSameWordInTheWholeStory) {
    const auto known = static_cast<std::int32_t>(stories().vocabulary().size());
    Draws draws(3, 1);
    std::set<std::int32_t> first_places;
    for (int round = 0; round < 400; ++round) {
        const std::vector<std::int32_t> before = drawn_story(draws);
        std::vector<std::int32_t> after = before;
        std::vector<std::uint8_t> introduced;
        bring_in_new_words({.places = 8, .stories = 1, .names_and_toys = 0.5, .other_words = 0.25}, draws, after, introduced);
        ASSERT_EQ(after.size(), before.size());
        ASSERT_EQ(introduced.size(), before.size());
        std::map<std::int32_t, std::int32_t> read_as, stands_for;
        std::int32_t last = -1;
        for (std::size_t t = 0; t < before.size(); ++t) {
            EXPECT_EQ(read_as.emplace(before[t], after[t]).first->second, after[t]);
            const bool is_new = after[t] >= known, is_first = stands_for.emplace(after[t], before[t]).second;
            EXPECT_EQ(stands_for.at(after[t]), before[t]) << "two words may not look the same";
            EXPECT_EQ(introduced[t] != 0, is_new && is_first);
            if (!is_new) {
                EXPECT_EQ(after[t], before[t]);
            } else if (is_first) {
                EXPECT_LT(after[t], known + 8);
                if (last >= 0) {
                    EXPECT_EQ(after[t] - known, (last - known + 1) % 8) << "places are taken in turn";
                } else {
                    first_places.insert(after[t] - known);
                }
                last = after[t];
            }
            const std::string& word = stories().vocabulary()[static_cast<std::size_t>(before[t])];
            if (word.find_first_of(".,!?\"") != std::string::npos) {
                EXPECT_FALSE(is_new) << word;
            }
        }
    }
    EXPECT_EQ(first_places.size(), 8U) << "from a random one on";
}

TEST(NewWords, ComeAsOftenAsTheSettingsSay) {
    const auto known = static_cast<std::int32_t>(stories().vocabulary().size());
    EXPECT_EQ(std::count(names_and_toys().begin(), names_and_toys().end(), true), 26);
    Draws draws(4, 1);
    double with = 0, stories_told = 0, names = 0, new_names = 0, others = 0, new_others = 0;
    for (int round = 0; round < 4000; ++round) {
        const std::vector<std::int32_t> before = drawn_story(draws);
        std::vector<std::int32_t> after = before;
        std::vector<std::uint8_t> introduced;
        bring_in_new_words({.places = 64, .stories = 0.5, .names_and_toys = 0.5, .other_words = 1.0 / 12.0}, draws, after, introduced);
        ++stories_told;
        const bool any = std::find(introduced.begin(), introduced.end(), 1) != introduced.end();
        with += any ? 1 : 0;
        if (!any) continue;
        std::set<std::int32_t> met;
        for (std::size_t t = 0; t < before.size(); ++t) {
            if (!met.insert(before[t]).second) continue;
            const auto id = static_cast<std::size_t>(before[t]);
            const bool is_mark = std::isalpha(static_cast<unsigned char>(stories().vocabulary()[id].front())) == 0;
            if (is_mark) continue;
            (names_and_toys()[id] ? names : others) += 1;
            (names_and_toys()[id] ? new_names : new_others) += after[t] >= known ? 1 : 0;
        }
    }
    // A story of about 25 different words with new ones has none with a chance of about 0.02, which is not counted.
    EXPECT_NEAR(with / stories_told, 0.5, 0.03);
    EXPECT_NEAR(new_names / names, 0.5, 0.03);
    EXPECT_NEAR(new_others / others, 1.0 / 12.0, 0.01);
}

TEST(NewWords, AreNotAskedForWhereTheyAppearFirst) {
    const Dataset data(stories_with({.places = 8}), 5);
    EXPECT_EQ(data.tokenizer().places(), 8);
    const auto known = static_cast<std::int32_t>(stories().vocabulary().size());
    EXPECT_EQ(data.tokenizer().size(), known + 8);
    Batch batch;
    data.training_batch(0, 200, batch);
    int asked = 0, first = 0;
    for (std::int64_t b = 0; b < 200; ++b) {
        std::set<std::int32_t> met;
        for (std::int64_t t = 0; t < batch.tokens.lengths[static_cast<std::size_t>(b)]; ++t) {
            const auto at = static_cast<std::size_t>(b * batch.tokens.length + t);
            met.insert(batch.tokens.ids[at]);
            const bool last = t + 1 == batch.tokens.lengths[static_cast<std::size_t>(b)];
            const std::int32_t next = last ? -1 : batch.tokens.ids[at + 1];
            if (next >= known && !met.contains(next)) {
                ++first;
                EXPECT_EQ(batch.targets[at], kIgnoredTarget);
            } else if (!last) {
                EXPECT_EQ(batch.targets[at], next);
                asked += next >= known ? 1 : 0;
            }
        }
    }
    EXPECT_GT(first, 100);
    EXPECT_GT(asked, 100) << "afterwards they are";
    // What is held out stays as it is told.
    for (const std::int32_t id : data.validation().tokens.ids) EXPECT_LT(id, known);
}

TEST(NewWords, AreDrawnOnlyForTasksThatHaveThem) {
    Batch with, without;
    Dataset(stories_with({.places = 8, .stories = 0}), 5).training_batch(3, 20, with);
    Dataset(stories_with({}), 5).training_batch(3, 20, without);
    EXPECT_EQ(with.tokens, without.tokens);
    EXPECT_EQ(with.targets, without.targets);
    TaskSettings other;
    other.new_words.places = 8;
    EXPECT_THROW(validate(other), ConfigError);
    EXPECT_THROW(validate(stories_with({.places = kMostPlaces + 1})), ConfigError);
    EXPECT_THROW(validate(stories_with({.places = 8, .other_words = 1.5})), ConfigError);
}

TEST(NewWords, SettingsComeBackFromTheirFile) {
    RunSettings settings;
    settings.task = stories_with({.places = 5, .stories = 0.25, .names_and_toys = 1, .other_words = 0.125});
    const RunSettings back = run_settings_from_json(to_json(settings).dump(), "test");
    EXPECT_EQ(back.task, settings.task);
    settings.task.new_words = {};
    EXPECT_THAT(to_json(settings).dump(), testing::Not(testing::HasSubstr("new_words"))) << "other models are written as before";
}

TEST(FirstIds, AreAllThatTheSoftmaxIsOver) {
    std::mt19937 random(11);
    const auto below = [&](std::int64_t count) { return std::uniform_int_distribution<std::int64_t>(0, count - 1)(random); };
    for (int round = 0; round < 40; ++round) {
        SCOPED_TRACE(round);
        Config config;
        config.vocab_size = 1 + below(20);
        config.context_length = 1 + below(9);
        config.num_heads = 1 + below(3);
        config.d_model = 2 * config.num_heads * (1 + below(4));
        config.d_ff = 1 + below(16);
        config.num_layers = 1 + below(2);
        config.tied_lm_head = below(2) == 0;
        config.lm_head_bias = below(2) == 0;
        config.seed = static_cast<std::uint64_t>(round);
        const auto whole = std::make_shared<const Parameters<float>>(initial_parameters<float>(config));
        const std::int64_t ids = 1 + below(config.vocab_size), length = 1 + below(config.context_length);
        const auto few = std::make_shared<const Parameters<float>>(with_first_ids(*whole, ids));
        TokenBatch tokens{length, {}, {length}};
        for (std::int64_t t = 0; t < length; ++t) tokens.ids.push_back(static_cast<std::int32_t>(below(ids)));
        const Trace<float> all = trace_forward<float>(whole, tokens, {}, {}), some = trace_forward<float>(few, tokens, {}, {});
        for (const RecordedStage<float>& stage : some.stages) {
            if (stage.id.stage == Stage::Logits || stage.id.stage == Stage::Probabilities) continue;
            const auto a = stage.value.values(), b = all.find(stage.id)->value.values();
            EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << tensor_name(stage.id) << " has the same bits";
        }
        const Tensor<float>& logits = all.find({Stage::Logits, -1})->value;
        const Tensor<float>& kept = some.find({Stage::Logits, -1})->value;
        const Tensor<float>& chances = some.find({Stage::Probabilities, -1})->value;
        ASSERT_EQ(kept.shape().count(), length * ids);
        for (std::int64_t t = 0; t < length; ++t) {
            double sum = 0;
            for (std::int64_t v = 0; v < ids; ++v) sum += std::exp(static_cast<double>(logits.data()[t * config.vocab_size + v]));
            for (std::int64_t v = 0; v < ids; ++v) {
                const float logit = logits.data()[t * config.vocab_size + v];
                EXPECT_NEAR(kept.data()[t * ids + v], logit, 1e-5);
                EXPECT_NEAR(chances.data()[t * ids + v], std::exp(static_cast<double>(logit)) / sum, 1e-5);
            }
        }
        EXPECT_TRUE(reference::verify(some).ok);
    }
    const Parameters<float> whole = initial_parameters<float>(Config{.vocab_size = 4, .context_length = 4});
    EXPECT_THROW(with_first_ids(whole, 0), Error);
    EXPECT_THROW(with_first_ids(whole, 5), Error);
}

}  // namespace
}  // namespace attn
