/// Translation and fill-in tasks: the model's input, the targets, and that it learns from these alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "engine/grammar/stories.hpp"
#include "engine/model/model_pass.hpp"
#include "engine/model/transformer.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/tensor/error.hpp"
#include "engine/train/not_finite.hpp"
#include "engine/train/training_run.hpp"
#include "tests/engine/gradient_check.hpp"
#include "tests/support/toy_alignment.hpp"

namespace attn {
namespace {

using testing_support::toy_dictionary;

RunSettings small_sentence_run(TaskKind kind) {
    RunSettings run = default_run(kind);
    if (kind == TaskKind::FillIn) run.task.length = 20;
    run.model.d_model = 8;
    run.model.num_heads = 2;
    run.model.num_layers = 1;
    run.model.d_ff = 8;
    run.batch_size = 6;
    return run;
}

Dataset data_of(TaskKind kind, std::uint64_t seed = 3) { return {small_sentence_run(kind).task, seed}; }

/// A sequence of a batch as words, without padding.
struct Said {
    std::vector<std::string> source, tokens, targets;  ///< "" where there is none
};

std::vector<Said> said(const Dataset& data, const Batch& batch) {
    const auto& words = data.tokenizer().vocabulary();
    std::vector<Said> all;
    for (std::int64_t b = 0; b < batch.tokens.size(); ++b) {
        Said& one = all.emplace_back();
        const auto row = static_cast<std::size_t>(b);
        for (std::int64_t t = 0; t < batch.tokens.length; ++t) {
            const auto at = static_cast<std::size_t>(b * batch.tokens.length + t);
            const std::int32_t target = batch.targets.at(at);
            if (t >= batch.tokens.lengths[row]) {
                EXPECT_EQ(batch.tokens.ids[at], 0);
                EXPECT_EQ(target, kIgnoredTarget) << "nothing is asked in the padding";
                continue;
            }
            one.tokens.push_back(words.at(static_cast<std::size_t>(batch.tokens.ids[at])));
            one.targets.push_back(target == kIgnoredTarget ? "" : words.at(static_cast<std::size_t>(target)));
        }
        for (std::int64_t s = 0; s < batch.source.length; ++s) {
            const std::int32_t id = batch.source.ids.at(static_cast<std::size_t>(b * batch.source.length + s));
            if (s < batch.source.lengths.at(row)) one.source.push_back(words.at(static_cast<std::size_t>(id)));
            else EXPECT_EQ(id, 0);
        }
    }
    return all;
}

std::vector<Said> trained_on(const Dataset& data, std::int64_t step, std::int64_t size) {
    Batch batch;
    data.training_batch(step, size, batch);
    return said(data, batch);
}

TEST(TranslateTask, AsksForTheAnswerWordByWord) {
    const Dataset data = data_of(TaskKind::Translate);
    std::vector<Said> all = trained_on(data, 2, 300);
    const std::vector<Said> held_out = said(data, data.validation());
    all.insert(all.end(), held_out.begin(), held_out.end());
    for (const Said& one : all) {
        ASSERT_EQ(one.tokens.front(), ">");
        ASSERT_EQ(one.targets.size(), one.tokens.size());
        for (std::size_t t = 0; t < one.tokens.size(); ++t) {
            ASSERT_NE(one.targets[t], "");
            ASSERT_TRUE(t == 0 || one.tokens[t] == one.targets[t - 1]) << "teacher forcing";
        }
        ASSERT_EQ(one.targets.back(), one.source.back());
        // Every English word except "a" is translated.
        const std::vector<int> aligned = testing_support::toy_alignment(one.source, one.targets);
        for (std::size_t s = 0; s < one.source.size(); ++s)
            ASSERT_TRUE(one.source[s] == "a" || std::find(aligned.begin(), aligned.end(), static_cast<int>(s)) != aligned.end());
    }
}

TEST(TranslateTask, NeverTrainsOnWhatIsHeldOut) {
    const Dataset data = data_of(TaskKind::Translate);
    std::set<std::vector<std::string>> held_out;
    for (const Said& one : said(data, data.validation())) EXPECT_TRUE(held_out.insert(one.source).second) << "none is held out twice";
    EXPECT_EQ(held_out.size(), 256U);
    for (std::int64_t step = 0; step < 40; ++step)
        for (const Said& one : trained_on(data, step, 100)) ASSERT_FALSE(held_out.contains(one.source));
    std::int64_t sequences = 0;
    for (const HeldOutLength& length : data.validation_by_length())
        for (const Said& one : said(data, length.batch)) {
            ++sequences;
            EXPECT_EQ(static_cast<std::int64_t>(one.tokens.size()), length.length);
            EXPECT_TRUE(held_out.contains(one.source));
        }
    EXPECT_EQ(sequences, 256);
}

TEST(TranslateTask, ProbeIsOneOfTheLongestWithItsSource) {
    const Dataset data = data_of(TaskKind::Translate);
    const Batch probe = data.probe_batch();
    const auto& lengths = data.validation().tokens.lengths;
    EXPECT_EQ(probe.tokens.length, *std::max_element(lengths.begin(), lengths.end()));
    EXPECT_EQ(data.tokenizer().decode(probe.tokens.ids), data.probe());
    EXPECT_EQ(data.tokenizer().decode(probe.source.ids), data.probe_source());
    EXPECT_EQ(probe.targets.size(), probe.tokens.ids.size());
    EXPECT_TRUE(data_of(TaskKind::FillIn).probe_source().empty());
}

TEST(FillInTask, HidesWordsOfAStoryAndAsksForThemAlone) {
    const Dataset data = data_of(TaskKind::FillIn);
    std::vector<Said> all = trained_on(data, 1, 200);
    const std::vector<Said> held_out = said(data, data.validation());
    all.insert(all.end(), held_out.begin(), held_out.end());
    std::set<std::size_t> blanks;
    for (const Said& one : all) {
        EXPECT_TRUE(one.source.empty());
        std::string story;
        std::size_t hidden = 0;
        for (std::size_t t = 0; t < one.tokens.size(); ++t) {
            const bool blank = one.tokens[t] == kBlank;
            ASSERT_EQ(one.targets[t] != "", blank) << "only what is hidden is asked for";
            hidden += blank ? 1 : 0;
            story += (t == 0 ? "" : " ") + (blank ? one.targets[t] : one.tokens[t]);
        }
        blanks.insert(hidden);
        EXPECT_NO_THROW(stories().next_words(stories().ids_of(story))) << story;
    }
    EXPECT_FALSE(blanks.contains(0));
    EXPECT_GE(blanks.size(), 3U) << "one word is hidden, or several";
}

TEST(FillInTask, NeverTrainsOnAHeldOutStory) {
    const Dataset data = data_of(TaskKind::FillIn);
    const auto story = [](const Said& one) {
        std::vector<std::string> words;
        for (std::size_t t = 0; t < one.tokens.size(); ++t) words.push_back(one.targets[t].empty() ? one.tokens[t] : one.targets[t]);
        return words;
    };
    std::set<std::vector<std::string>> held_out;
    for (const Said& one : said(data, data.validation())) EXPECT_TRUE(held_out.insert(story(one)).second);
    for (std::int64_t step = 0; step < 40; ++step)
        for (const Said& one : trained_on(data, step, 100)) ASSERT_FALSE(held_out.contains(story(one)));
}

class SentenceTask : public testing::TestWithParam<TaskKind> {};
INSTANTIATE_TEST_SUITE_P(Tasks, SentenceTask, testing::Values(TaskKind::Translate, TaskKind::FillIn),
                         [](const auto& of) { return of.param == TaskKind::Translate ? "translate" : "fill_in"; });

TEST_P(SentenceTask, SameSeedSameSequences) {
    const Dataset data = data_of(GetParam()), again = data_of(GetParam()), other = data_of(GetParam(), 4);
    Batch a, b;
    data.training_batch(7, 5, a);
    again.training_batch(1, 40, b);  // independent of earlier batches and of the batch size
    again.training_batch(7, 5, b);
    EXPECT_EQ(a.tokens, b.tokens);
    EXPECT_EQ(a.source, b.source);
    EXPECT_EQ(a.targets, b.targets);
    EXPECT_EQ(data.validation().source, again.validation().source);
    EXPECT_EQ(data.validation().targets, again.validation().targets);
    other.training_batch(7, 5, b);
    EXPECT_NE(a.tokens, b.tokens);
}

/// With realistic batches: padded sentences of different lengths on both sides, processed in runs and shares.
TEST_P(SentenceTask, GradientsOfATrainingStepAgreeWithDifferences) {
    RunSettings settings = small_sentence_run(GetParam());
    const Dataset data(settings.task, 5);
    settings.model.vocab_size = data.tokenizer().size();
    settings.model.context_length = std::max(data.length(), data.source_length());
    settings.model.layer_norm_eps = 1e-2;
    settings.model.init = Init::Vivid;
    Batch batch;
    data.training_batch(0, 9, batch);
    const auto& lengths = batch.tokens.lengths;
    if (GetParam() == TaskKind::Translate) {
        ASSERT_NE(*std::min_element(lengths.begin(), lengths.end()), *std::max_element(lengths.begin(), lengths.end()));
        const auto& sources = batch.source.lengths;
        ASSERT_NE(*std::min_element(sources.begin(), sources.end()), *std::max_element(sources.begin(), sources.end()));
    }
    TrainSettings train = settings.train;
    train.forward.dropout = {};
    train.schedule.rate = train.schedule.last_rate = 0;
    Parameters<double> parameters = initial_parameters<double>(settings.model);
    TrainingState<double> state(parameters);
    const StepResult result = state.step(batch.tokens, batch.source, batch.targets, train);
    ModelPass<double> pass(parameters, Keep::OneLayer);
    Tap<double> none;
    const auto loss = [&] {
        pass.forward(batch.tokens, batch.source, train.forward, none);
        return pass.loss(batch.targets).loss;
    };
    EXPECT_NEAR(result.loss, loss(), 1e-12);
    bool cross = false, encoder = false;
    for (const ParameterInfo& info : parameters.layout().entries()) {
        cross = cross || info.name.find("cross_attention") != std::string::npos;
        encoder = encoder || info.name.starts_with("encoder.");
        const auto n = static_cast<std::size_t>(std::min<std::int64_t>(info.shape.count(), 10));
        const double worst = worst_gradient_error({parameters.data() + info.offset, n}, {state.gradients().data() + info.offset, n}, loss);
        EXPECT_TRUE(worst <= kGradientTolerance) << info.name << " " << worst;
    }
    EXPECT_EQ(cross, GetParam() == TaskKind::Translate);
    EXPECT_EQ(encoder, GetParam() == TaskKind::Translate);
}

TEST_P(SentenceTask, AccuracyIsThatOfCountingOneByOne) {
    TrainingRun run(small_sentence_run(GetParam()));
    for (int i = 0; i < 5; ++i) run.step();
    const ValidationPoint point = run.evaluate();
    const Dataset& data = run.dataset();
    ForwardSettings forward = run.settings().train.forward;
    forward.dropout = {};
    const auto trace = trace_forward<float>(std::make_shared<const Parameters<float>>(run.state().parameters()), data.validation().tokens,
                                            data.validation().source, forward);
    const Stack stack = GetParam() == TaskKind::Translate ? Stack::Decoder : Stack::Main;
    const Tensor<float>& logits = trace.find({Stage::Logits, -1, stack})->value;
    const auto vocabulary = static_cast<std::size_t>(data.tokenizer().size());
    std::int64_t asked = 0, right = 0;
    double loss = 0;
    for (std::size_t i = 0; i < data.validation().targets.size(); ++i) {
        const std::int32_t target = data.validation().targets[i];
        if (target == kIgnoredTarget) continue;
        const float* row = logits.data() + i * vocabulary;
        ++asked;
        right += std::max_element(row, row + vocabulary) - row == target ? 1 : 0;
        double sum = 0;
        for (std::size_t v = 0; v < vocabulary; ++v) sum += std::exp(static_cast<double>(row[v]));
        loss += std::log(sum) - static_cast<double>(row[target]);
    }
    EXPECT_NEAR(point.accuracy, static_cast<double>(right) / static_cast<double>(asked), 1e-12);
    EXPECT_NEAR(point.loss, loss / static_cast<double>(asked), 1e-5);
}

TEST_P(SentenceTask, IsLearnedByOneArchitecture) {
    for (const Architecture architecture : {Architecture::Encoder, Architecture::DecoderOnly, Architecture::EncoderDecoder}) {
        RunSettings settings = small_sentence_run(GetParam());
        if (architecture == settings.model.architecture) continue;
        settings.model.architecture = architecture;
        EXPECT_THROW(TrainingRun{settings}, ConfigError);
        settings.task = default_run(TaskKind::Copy).task;
        settings.train.forward.masks.causal = true;
        if (architecture == Architecture::DecoderOnly) EXPECT_NO_THROW(TrainingRun{settings});
        else EXPECT_THROW(TrainingRun{settings}, ConfigError);
    }
    RunSettings headless = small_sentence_run(GetParam());
    headless.model.lm_head = false;
    EXPECT_THROW(TrainingRun{headless}, ConfigError);
}

TEST(TranslateTask, NeedsTheCausalMaskAndFillInDoesNot) {
    RunSettings settings = small_sentence_run(TaskKind::Translate);
    settings.train.forward.masks.causal = false;
    EXPECT_THROW(TrainingRun{settings}, ConfigError);
    settings = small_sentence_run(TaskKind::FillIn);
    ASSERT_FALSE(settings.train.forward.masks.causal);
    EXPECT_NO_THROW(TrainingRun{settings});
    settings.train.forward.masks.causal = true;  // a handicap, not a mistake
    EXPECT_NO_THROW(TrainingRun{settings});
}

/// A hidden word depends on both sides; a word of a translation on earlier words and on the source.
TEST_P(SentenceTask, PredictsFromWhatItMaySee) {
    TrainingRun run(small_sentence_run(GetParam()));
    const Batch probe = run.dataset().probe_batch();
    ForwardSettings forward = run.settings().train.forward;
    forward.dropout = {};
    const auto parameters = run.keep().parameters;
    const bool translates = GetParam() == TaskKind::Translate;
    const StageId logits{Stage::Logits, -1, translates ? Stack::Decoder : Stack::Main};
    const auto row = [&](const Batch& batch, std::int64_t t) {
        const auto trace = trace_forward<float>(parameters, batch.tokens, batch.source, forward);
        const std::int64_t size = trace.config.vocab_size;
        const float* first = trace.find(logits)->value.data() + t * size;
        return std::vector<float>(first, first + size);
    };
    constexpr std::int64_t kAt = 4;
    Batch later = probe;
    later.tokens.ids.back() = (later.tokens.ids.back() + 1) % 5 + 1;
    EXPECT_EQ(row(probe, kAt) == row(later, kAt), translates);
    if (!translates) return;
    Batch other = probe;
    other.source.ids.back() = (other.source.ids.back() + 1) % 5 + 1;
    EXPECT_NE(row(probe, kAt), row(other, kAt));
}

TEST_P(SentenceTask, NamesTheTensorThatWentBad) {
    TrainingRun run(small_sentence_run(GetParam()));
    Batch batch;
    run.dataset().training_batch(0, 3, batch);
    Parameters<float> parameters = run.state().parameters();
    EXPECT_EQ(first_not_finite(parameters, batch, run.settings().train.forward), "");
    // The norm before it gives numbers around 1, so that sums with changing signs are certain to overflow.
    const char* name = GetParam() == TaskKind::Translate ? "encoder.layers.0.ffn.in.weight" : "layers.0.ffn.in.weight";
    for (const ParameterInfo& info : parameters.layout().entries())
        for (std::int64_t i = 0; info.name == name && i < info.shape.count(); ++i)
            parameters.data()[info.offset + i] = i * i % 3 == 0 ? 3e38F : -3e38F;
    const std::string found = first_not_finite(parameters, batch, run.settings().train.forward);
    EXPECT_NE(found.find(GetParam() == TaskKind::Translate ? "encoder.layers.0." : "layers.0."), std::string::npos) << found;
}

}  // namespace
}  // namespace attn
