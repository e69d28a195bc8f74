/// The embedded trained models: their accuracy on sequences not seen in training, and how they are opened.

#include "app/session/states/shipped_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "app/session/document/document_json.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/document/weights_origin.hpp"
#include "app/session/session.hpp"
#include "app/session/states/places_in_use.hpp"
#include "assets/embedded.hpp"
#include "engine/grammar/stories.hpp"
#include "engine/io/file_error.hpp"
#include "engine/model/transformer.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/reference/verify.hpp"
#include "engine/tasks/dataset.hpp"
#include "engine/trace/head_scores.hpp"

namespace attn::app {
namespace {

const Checkpoint& checkpoint_of(const char* name) {
    const auto model = shipped_model(name);
    if (model == nullptr) throw std::runtime_error(std::string("there is no model ") + name);
    return model->checkpoint;
}

/// A model's predictions for all targets of the held-out sequences.
struct Answers {
    std::int64_t asked = 0, right = 0;
    double share() const { return static_cast<double>(right) / static_cast<double>(asked); }
};

/// Calls `each(sequence, place, logits)` for every target in the held-out sequences of the model's own task, which have no new words.
template <class Each>
void for_held_out(const Checkpoint& checkpoint, const std::shared_ptr<const Parameters<float>>& parameters, Each each) {
    const Dataset data(checkpoint.settings.task, checkpoint.settings.seed);
    const auto reads = with_places_in_use(parameters, data.tokenizer().size() - data.tokenizer().places());
    const Batch& all = data.validation();
    for (std::int64_t b = 0; b < all.tokens.size(); ++b) {
        const std::int64_t length = all.tokens.lengths[static_cast<std::size_t>(b)];
        const auto first = all.tokens.ids.begin() + b * all.tokens.length;
        const TokenBatch tokens{length, {first, first + length}, {length}};
        const Trace<float> trace = trace_forward<float>(reads, tokens, {}, checkpoint.settings.train.forward);
        const float* logits = trace.find({Stage::Logits, -1})->value.data();
        const auto vocabulary = static_cast<std::size_t>(trace.config.vocab_size);
        for (std::int64_t t = 0; t < length; ++t) {
            const std::int32_t target = all.targets[static_cast<std::size_t>(b * all.tokens.length + t)];
            if (target != kIgnoredTarget) each(tokens, t, target, std::span(logits + static_cast<std::size_t>(t) * vocabulary, vocabulary));
        }
    }
}

std::int32_t likeliest(std::span<const float> logits) {
    return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

Answers answers_of(const Checkpoint& checkpoint, const std::shared_ptr<const Parameters<float>>& parameters) {
    Answers answers;
    for_held_out(checkpoint, parameters, [&](const TokenBatch&, std::int64_t, std::int32_t target, std::span<const float> logits) {
        ++answers.asked;
        answers.right += likeliest(logits) == target ? 1 : 0;
    });
    return answers;
}

std::shared_ptr<const Parameters<float>> untrained_of(const Checkpoint& checkpoint) {
    return std::make_shared<const Parameters<float>>(initial_parameters<float>(checkpoint.settings.model));
}

/// A comparison of a story model with the grammar.
struct Reading {
    Answers determined;
    double loss = 0, entropy = 0;  ///< summed over words that the grammar does not determine
};

Reading read_stories(const Checkpoint& checkpoint, const std::shared_ptr<const Parameters<float>>& parameters) {
    Reading reading;
    std::vector<attn::NextWord> places;
    for_held_out(checkpoint, parameters, [&](const TokenBatch& tokens, std::int64_t t, std::int32_t target, std::span<const float> logits) {
        if (t == 0) places = stories().next_words(tokens.ids);
        const attn::NextWord& next = places[static_cast<std::size_t>(t) + 1];
        if (next.determined()) {
            EXPECT_EQ(next.words.front().word, target);
            ++reading.determined.asked;
            reading.determined.right += likeliest(logits) == target ? 1 : 0;
            return;
        }
        const float most = logits[static_cast<std::size_t>(likeliest(logits))];
        double sum = 0;
        for (const float logit : logits) sum += std::exp(static_cast<double>(logit - most));
        for (const WordChance& at : next.words)
            reading.loss -= at.chance * (static_cast<double>(logits[static_cast<std::size_t>(at.word)] - most) - std::log(sum));
        reading.entropy += next.entropy();
    });
    return reading;
}

TEST(ShippedModels, AreThereAndTogetherSmall) {
    EXPECT_THAT(shipped_models(), testing::IsSupersetOf({"stories", "induction", "addition"}));
    std::size_t bytes = 0;
    for (const std::string& name : shipped_models())
        bytes += find_embedded(embedded_assets(), "models/" + name + ".safetensors")->bytes.size();
    EXPECT_LE(bytes, 8'000'000U);
    EXPECT_EQ(shipped_model("nonsense"), nullptr);
    EXPECT_EQ(shipped_model("stories"), shipped_model("stories")) << "read once, shared by all states";
}

TEST(ShippedModels, StoriesKnowWhatIsDeterminedAndLeaveOpenWhatIsNot) {
    const Checkpoint& checkpoint = checkpoint_of("stories");
    const Reading reading = read_stories(checkpoint, checkpoint.parameters);
    std::printf("stories: %.4f of %lld determined words right, loss elsewhere %.4f of the entropy\n", reading.determined.share(),
                static_cast<long long>(reading.determined.asked), reading.loss / reading.entropy);
    ASSERT_GT(reading.determined.asked, 4000);
    EXPECT_GE(reading.determined.share(), 0.9995);
    EXPECT_LE(reading.loss, 1.01 * reading.entropy);
    EXPECT_GE(reading.loss, reading.entropy) << "nothing is better than the grammar";
    // Negative control: not so for the untrained model.
    const Reading none = read_stories(checkpoint, untrained_of(checkpoint));
    EXPECT_LT(none.determined.share(), 0.2);
    EXPECT_GT(none.loss, 2 * none.entropy);
}

/// Stories whose names and toys are words that the model has never read: which of the words that follow from the story it finds.
struct OwnWords {
    Answers determined, named;  ///< `named`: those of them that are new words
};

/// A held-out story, each name and toy replaced with chance 1/2, and where a new word stands for the first time.
std::string retold(std::span<const std::int32_t> words, Draws& draws, std::vector<bool>& is_new, std::vector<bool>& is_first) {
    std::map<std::int32_t, std::string> read_as;
    std::string text;
    for (const std::int32_t word : words) {
        const std::string& known = stories().vocabulary()[static_cast<std::size_t>(word)];
        const bool can = names_and_toys()[static_cast<std::size_t>(word)], met = read_as.contains(word);
        if (!met) read_as[word] = can && draws.below(2) == 0 ? "Zork" + std::to_string(read_as.size()) : known;
        is_new.push_back(read_as[word] != known);
        is_first.push_back(is_new.back() && !met);
        text += read_as[word] + " ";
    }
    return text;
}

OwnWords read_own_words(const std::shared_ptr<const Parameters<float>>& parameters) {
    const Checkpoint& checkpoint = checkpoint_of("stories");
    const Dataset data(checkpoint.settings.task, checkpoint.settings.seed);
    const Batch& all = data.validation();
    OwnWords own;
    Draws draws(1, 7);
    for (std::int64_t b = 0; b < all.tokens.size(); ++b) {
        const auto length = static_cast<std::size_t>(all.tokens.lengths[static_cast<std::size_t>(b)]);
        const std::span<const std::int32_t> told =
            std::span(all.tokens.ids).subspan(static_cast<std::size_t>(b * all.tokens.length), length);
        std::vector<bool> is_new, is_first;
        Document document = open_preset("stories");
        document.texts = {retold(told, draws, is_new, is_first)};
        const Prepared prepared = prepare(document);
        EXPECT_EQ(prepared.tokens.length, static_cast<std::int64_t>(length));
        const Trace<float> trace =
            trace_forward<float>(with_places_in_use(parameters, prepared.config.vocab_size), prepared.tokens, {}, document.forward);
        const float* logits = trace.find({Stage::Logits, -1})->value.data();
        const std::vector<attn::NextWord> places = stories().next_words(told);
        for (std::size_t t = 0; t + 1 < length; ++t) {
            if (!places[t + 1].determined() || is_first[t + 1]) continue;
            const auto columns = static_cast<std::size_t>(prepared.config.vocab_size);
            const bool right = likeliest({logits + t * columns, columns}) == prepared.tokens.ids[t + 1];
            for (Answers* const answers : {&own.determined, &own.named}) {
                if (answers == &own.named && !is_new[t + 1]) continue;
                ++answers->asked;
                answers->right += right ? 1 : 0;
            }
        }
    }
    return own;
}

TEST(ShippedModels, StoriesFollowWordsThatTheyHaveNeverRead) {
    const Checkpoint& checkpoint = checkpoint_of("stories");
    const OwnWords own = read_own_words(checkpoint.parameters);
    std::printf("stories with new words: %.4f of %lld determined words right, %.4f of %lld new words named\n", own.determined.share(),
                static_cast<long long>(own.determined.asked), own.named.share(), static_cast<long long>(own.named.asked));
    ASSERT_GT(own.named.asked, 500);
    EXPECT_GE(own.determined.share(), 0.995);
    EXPECT_GE(own.named.share(), 0.99);
    // Negative control: untrained, it does not.
    EXPECT_LT(read_own_words(untrained_of(checkpoint)).named.share(), 0.2);
}

/// A sentence of the stories example by title, with the weight of the cell that it refers to.
struct Shown {
    double weight = 0;
    std::string query, key, next;  ///< the words of the cell, and the likeliest word after the query
};

Shown shown(const std::string& title) {
    const Preset& preset = find_preset("stories");
    for (std::size_t i = 0; i < preset.sentences.size(); ++i) {
        const PresetSentence& sentence = preset.sentences[i];
        if (sentence.title != title || !sentence.look) continue;
        const Document document = open_preset("stories", i);
        const Prepared prepared = prepare(document);
        const Trace<float> trace = trace_forward<float>(parameters_for(document, prepared.config, document.shipped->checkpoint.parameters),
                                                        prepared.tokens, {}, document.forward);
        std::int64_t t = 0, s = 0;
        for (const auto& [axis, index] : sentence.look->cell) (axis == Axis::T ? t : s) = index;
        const std::int64_t length = prepared.tokens.length, vocabulary = trace.config.vocab_size;
        const float* weights = trace.find(sentence.look->stage)->value.data() + sentence.look->head * length * length;
        const float* chances = trace.find({Stage::Probabilities, -1})->value.data() + t * vocabulary;
        const auto word = [&](std::int64_t id) { return prepared.vocabulary[static_cast<std::size_t>(id)]; };
        return {static_cast<double>(weights[t * length + s]), word(prepared.tokens.ids[static_cast<std::size_t>(t)]),
                word(prepared.tokens.ids[static_cast<std::size_t>(s)]), word(std::max_element(chances, chances + vocabulary) - chances)};
    }
    throw std::runtime_error("stories has no sentence " + title);
}

TEST(ShippedModels, AHeadOfStoriesFindsTheName) {
    const Shown question = shown("who has the ball?");
    EXPECT_EQ(question.query, "?");
    EXPECT_EQ(question.key, "Lily");
    EXPECT_EQ(question.next, "Lily");
    EXPECT_GT(question.weight, 0.9);
    // It attends to "She" if nobody else is said to have the thing, otherwise to the last one who was given it.
    EXPECT_EQ(shown("who is “she”?").key, "She");
    EXPECT_EQ(shown("who is “she”?").next, "Lily");
    EXPECT_EQ(shown("and now?").key, "Ben");
    EXPECT_EQ(shown("and now?").next, "Ben");
}

TEST(ShippedModels, EverySentenceOfStoriesPointsAtAHeadThatDoesSomething) {
    for (const PresetSentence& sentence : find_preset("stories").sentences) {
        SCOPED_TRACE(sentence.title);
        EXPECT_GT(shown(sentence.title).weight, 0.3);
    }
    EXPECT_GE(find_preset("stories").sentences.size(), 12U);
    EXPECT_EQ(shown("many dogs, one tree").next, "are");
    EXPECT_EQ(shown("one dog, many trees").next, "is");
    EXPECT_EQ(shown("the quotation closes").next, "\"");
    EXPECT_EQ(shown("but").next, "sad");
}

TEST(ShippedModels, InductionGoesOnWithWhatRepeats) {
    const Checkpoint& checkpoint = checkpoint_of("induction");
    EXPECT_EQ(checkpoint.settings.model.num_layers, 2);
    EXPECT_FALSE(checkpoint.settings.model.feed_forward);
    const Answers answers = answers_of(checkpoint, checkpoint.parameters);
    std::printf("induction: %.4f of %lld right\n", answers.share(), static_cast<long long>(answers.asked));
    EXPECT_GE(answers.share(), 0.99);
    EXPECT_LT(answers_of(checkpoint, untrained_of(checkpoint)).share(), 0.2);
    const Dataset data(checkpoint.settings.task, checkpoint.settings.seed);
    const Trace<float> trace =
        trace_forward<float>(checkpoint.parameters, data.probe_batch().tokens, {}, checkpoint.settings.train.forward);
    double previous = 0, induction = 0;
    for (const HeadScore& head : head_scores(trace)) {
        if (head.id.layer == 0) previous = std::max(previous, head.previous_token);
        if (head.id.layer == 1) induction = std::max(induction, head.induction);
    }
    EXPECT_GT(previous, 0.5) << "the first layer looks one back";
    EXPECT_GT(induction, 0.8) << "the second looks behind the same symbol";
}

TEST(ShippedModels, AdditionIsRightWithItsCarries) {
    const Checkpoint& checkpoint = checkpoint_of("addition");
    const Answers answers = answers_of(checkpoint, checkpoint.parameters);
    std::printf("addition: %.4f of %lld right\n", answers.share(), static_cast<long long>(answers.asked));
    EXPECT_GE(answers.share(), 0.99);
    EXPECT_LT(answers_of(checkpoint, untrained_of(checkpoint)).share(), 0.3);
}

TEST(ShippedModels, AreShownWithTheirOwnNumbersAndVerified) {
    for (const std::string& name : shipped_models()) {
        SCOPED_TRACE(name);
        Session session(open_preset(name), [] {});
        const auto snapshot = session.wait();
        ASSERT_EQ(snapshot->problem, "");
        EXPECT_EQ(snapshot->trace->parameters,
                  with_places_in_use(shipped_model(name)->checkpoint.parameters, snapshot->trace->config.vocab_size));
        EXPECT_TRUE(reference::verify(*snapshot->trace).ok);
        EXPECT_EQ(weights_origin(session.document()).text, "trained");
    }
}

TEST(ShippedModels, EverySentenceCanBeReadAndPointsAtSomethingThatIsThere) {
    for (const Preset& preset : presets())
        for (std::size_t i = 0; i < preset.sentences.size(); ++i) {
            SCOPED_TRACE(preset.name + ", sentence " + std::to_string(i + 1));
            const Document document = open_preset(preset.name, i);
            const Prepared prepared = prepare(document);
            const PresetSentence& sentence = preset.sentences[i];
            EXPECT_EQ(shown_sentence(document), &sentence);
            EXPECT_EQ(look_at(document), sentence.look_at);
            EXPECT_GT(sentence.look_at.size(), 20U);
            if (!sentence.look) continue;
            EXPECT_EQ(look_of(document), sentence.look);
            EXPECT_LT(sentence.look->stage.layer, prepared.config.num_layers);
            EXPECT_LT(sentence.look->head, prepared.config.num_heads);
            for (const auto& [axis, index] : sentence.look->cell)
                if (axis == Axis::T || axis == Axis::S) {
                    EXPECT_LT(index, prepared.tokens.length);
                }
        }
    EXPECT_THROW(open_preset("stories", 1000), Error);
}

TEST(ShippedModels, WithoutPlacesForNewWordsTakeOnlyWordsThatTheyKnow) {
    Session session(open_preset("masked"), [] {});
    session.apply({command::SetTexts{{"Lily has a spaceship ."}, {}}, ""});
    EXPECT_THAT(session.wait()->problem, testing::HasSubstr("“spaceship” is not among them"));
}

TEST(ShippedModels, ComeBackWithTheirDocument) {
    Document document = open_preset("stories", 1);
    document.forward.temperature = 2;
    const Document back = document_from_json(document_to_json(document), "test");
    EXPECT_EQ(back, document);
    EXPECT_EQ(back.shipped, shipped_model("stories"));
    Session session(open_preset("self-attention"), [] {});
    session.apply({command::OpenDocument{back}, ""});
    EXPECT_EQ(session.document().shipped, document.shipped);
    EXPECT_EQ(session.wait()->problem, "");
}

TEST(ShippedModels, BecomeRandomWhenTheirSettingsAreChanged) {
    Session session(open_preset("stories"), [] {});
    Config config = session.document().config;
    config.num_layers = 1;
    session.apply({command::SetConfig{config}, ""});
    EXPECT_EQ(session.document().shipped, nullptr);
    EXPECT_EQ(weights_origin(session.document()).text, "random weights");
    EXPECT_EQ(session.wait()->problem, "");
    session.apply({command::Undo{}, ""});
    EXPECT_EQ(session.document().shipped, shipped_model("stories"));
}

}  // namespace
}  // namespace attn::app
