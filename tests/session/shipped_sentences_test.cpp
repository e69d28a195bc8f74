/// The two embedded models for whole sentences, on sentences they were not trained on.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "app/session/document/presets.hpp"
#include "app/session/states/shipped_model.hpp"
#include "engine/generate/generate.hpp"
#include "engine/grammar/stories.hpp"
#include "engine/model/transformer.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/tasks/dataset.hpp"
#include "engine/tensor/error.hpp"
#include "tests/support/toy_alignment.hpp"

namespace attn::app::test {
namespace {

using Sentence = std::vector<std::string>;
using SharedParameters = std::shared_ptr<const Parameters<float>>;

std::shared_ptr<const ShippedModel> the_model(const char* name) {
    auto model = shipped_model(name);
    if (model == nullptr) throw Error(std::string("there is no model ") + name);
    return model;
}

/// The same model before training.
SharedParameters unlearned(const ShippedModel& model) {
    return std::make_shared<const Parameters<float>>(initial_parameters<float>(model.checkpoint.parameters->config()));
}

ForwardSettings computed_as(const ShippedModel& model) {
    ForwardSettings forward = model.checkpoint.settings.train.forward;
    forward.dropout = {};
    return forward;
}

std::int32_t best_of(const float* logits, std::int64_t vocabulary) {
    return static_cast<std::int32_t>(std::max_element(logits, logits + vocabulary) - logits);
}

/// Accuracies over all words of held-out translations.
struct Translated {
    double right = 0, aligned = 0;
};

Sentence words_of(const Dataset& data, const TokenBatch& batch, std::int64_t row) {
    Sentence words;
    for (std::int64_t i = 0; i < batch.lengths[static_cast<std::size_t>(row)]; ++i)
        words.push_back(
            data.tokenizer().vocabulary()[static_cast<std::size_t>(batch.ids[static_cast<std::size_t>(row * batch.length + i)])]);
    return words;
}

/// The source word that gets the most weight from all heads of the last layer together.
std::int64_t strongest(const Tensor<float>& weights, std::int64_t b, std::int64_t t) {
    const std::int64_t heads = weights.shape()[1].size, queries = weights.shape()[2].size, keys = weights.shape()[3].size;
    std::vector<float> sum(static_cast<std::size_t>(keys));
    for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t s = 0; s < keys; ++s)
            sum[static_cast<std::size_t>(s)] += weights.data()[((b * heads + h) * queries + t) * keys + s];
    return std::max_element(sum.begin(), sum.end()) - sum.begin();
}

Translated judge_translations(const ShippedModel& model, const SharedParameters& parameters) {
    const Dataset data(model.checkpoint.settings.task, model.checkpoint.settings.seed);
    const Batch& all = data.validation();
    const auto trace = trace_forward<float>(parameters, all.tokens, all.source, computed_as(model));
    const int last = static_cast<int>(parameters->config().num_layers) - 1;
    const Tensor<float>& logits = trace.find({Stage::Logits, -1, Stack::Decoder})->value;
    const Tensor<float>& weights = trace.find({Stage::Weights, last, Stack::Decoder, kCrossAttention})->value;
    std::int64_t words = 0, right = 0, with_origin = 0, aligned = 0;
    for (std::int64_t b = 0; b < all.tokens.size(); ++b) {
        Sentence answer;
        const std::int64_t length = all.tokens.lengths[static_cast<std::size_t>(b)];
        for (std::int64_t t = 0; t < length; ++t) {
            const std::int64_t cell = b * all.tokens.length + t;
            const std::int32_t target = all.targets[static_cast<std::size_t>(cell)];
            answer.push_back(data.tokenizer().vocabulary()[static_cast<std::size_t>(target)]);
            ++words;
            right += best_of(logits.data() + cell * data.tokenizer().size(), data.tokenizer().size()) == target ? 1 : 0;
        }
        const std::vector<int> origins = testing_support::toy_alignment(words_of(data, all.source, b), answer);
        for (std::int64_t t = 0; t < length; ++t) {
            const int origin = origins[static_cast<std::size_t>(t)];
            if (origin < 0) continue;
            ++with_origin;
            aligned += strongest(weights, b, t) == origin ? 1 : 0;
        }
    }
    EXPECT_GT(words, 2000);
    return {static_cast<double>(right) / static_cast<double>(words), static_cast<double>(aligned) / static_cast<double>(with_origin)};
}

TEST(ShippedTranslation, IsRightAndLooksAtTheWordThatItRenders) {
    const auto model = the_model("translation");
    const Translated learned = judge_translations(*model, model->checkpoint.parameters);
    RecordProperty("right", std::to_string(learned.right));
    RecordProperty("aligned", std::to_string(learned.aligned));
    std::printf("translation: %.4f of the words right, %.4f aligned\n", learned.right, learned.aligned);
    EXPECT_GE(learned.right, 0.99);
    EXPECT_GE(learned.aligned, 0.95);
    const Translated before = judge_translations(*model, unlearned(*model));
    EXPECT_LT(before.right, 0.1) << "the measure tells a model that has learned from one that has not";
    EXPECT_LT(before.aligned, 0.3);
}

TEST(ShippedTranslation, TranslatesItsExamplesAsTheySay) {
    const Preset& preset = find_preset("translation");
    EXPECT_GE(preset.sentences.size(), 12U);
    const auto model = the_model("translation");
    const Tokenizer tokenizer = Tokenizer::from_vocabulary(model->checkpoint.tokenizer, model->checkpoint.vocabulary, false);
    const auto ids_of = [&](const std::string& text) {
        std::vector<std::int32_t> ids;
        for (const TextToken& token : tokenizer.encode(text)) ids.push_back(token.id);
        return ids;
    };
    for (const PresetSentence& sentence : preset.sentences) {
        SCOPED_TRACE(sentence.title);
        ASSERT_EQ(sentence.source_texts.size(), 1U);
        const std::vector<std::int32_t> source = ids_of(sentence.source_texts[0]), begin = ids_of(">");
        const auto written =
            generate(*model->checkpoint.parameters, {begin, source, std::span(source).last(1)}, computed_as(*model), {.temperature = 0});
        std::string text = ">";
        for (std::size_t i = 0; i + 1 < written.size(); ++i) text += " " + tokenizer.vocabulary()[static_cast<std::size_t>(written[i])];
        EXPECT_EQ(text, sentence.texts.at(0));
        EXPECT_EQ(written.back(), source.back());
    }
}

/// Whether the grammar rules out any other word here.
bool only_this_fits(const std::vector<std::int32_t>& story, const std::vector<attn::NextWord>& places, std::size_t at) {
    return std::none_of(places[at].words.begin(), places[at].words.end(), [&](const WordChance& other) {
        if (other.word == story[at]) return false;
        std::vector<std::int32_t> changed = story;
        changed[at] = other.word;
        try {
            stories().next_words(changed);
            return true;
        } catch (const Error&) {
            return false;
        }
    });
}

/// The share of determined words that are found when each is hidden on its own.
double judge_filling_in(const ShippedModel& model, const SharedParameters& parameters, int texts) {
    const Dataset data(model.checkpoint.settings.task, model.checkpoint.settings.seed);
    const Batch& all = data.validation();
    const std::int64_t vocabulary = data.tokenizer().size();
    const auto blank = static_cast<std::int32_t>(vocabulary - 1);
    std::int64_t determined = 0, found = 0;
    for (std::int64_t b = 0; b < texts; ++b) {
        std::vector<std::int32_t> story;
        for (std::int64_t t = 0; t < all.tokens.lengths[static_cast<std::size_t>(b)]; ++t) {
            const auto at = static_cast<std::size_t>(b * all.tokens.length + t);
            story.push_back(all.targets[at] == kIgnoredTarget ? all.tokens.ids[at] : all.targets[at]);
        }
        const auto length = static_cast<std::int64_t>(story.size());
        TokenBatch hidden{length, {}, std::vector<std::int64_t>(story.size(), length)};
        for (std::size_t row = 0; row < story.size(); ++row) {
            hidden.ids.insert(hidden.ids.end(), story.begin(), story.end());
            hidden.ids[row * story.size() + row] = blank;
        }
        const auto trace = trace_forward<float>(parameters, hidden, {}, computed_as(model));
        const float* logits = trace.find({Stage::Logits})->value.data();
        const std::vector<attn::NextWord> places = stories().next_words(story);
        for (std::size_t at = 0; at < story.size(); ++at) {
            if (!only_this_fits(story, places, at)) continue;
            ++determined;
            const auto row = static_cast<std::int64_t>(at * story.size() + at);
            found += best_of(logits + row * vocabulary, vocabulary) == story[at] ? 1 : 0;
        }
    }
    EXPECT_GT(determined, 5 * texts) << "many words follow from the others";
    return static_cast<double>(found) / static_cast<double>(determined);
}

TEST(ShippedMasked, FindsWhatTheStoryDetermines) {
    const auto model = the_model("masked");
    const double learned = judge_filling_in(*model, model->checkpoint.parameters, 100);
    RecordProperty("found", std::to_string(learned));
    std::printf("masked: %.4f of the determined words found\n", learned);
    EXPECT_GE(learned, 0.99);
    EXPECT_LT(judge_filling_in(*model, unlearned(*model), 5), 0.2);
}

}  // namespace
}  // namespace attn::app::test
