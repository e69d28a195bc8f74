/// The default run of every task learns it, and the test would notice if it did not.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "engine/tasks/sample_text.hpp"
#include "engine/train/training_run.hpp"

namespace attn {
namespace {

struct Case {
    TaskKind kind;
    std::uint64_t seed;
};

std::string name_of(const testing::TestParamInfo<Case>& tested) {
    return std::string(task_info(tested.param.kind).name) + "_seed_" + std::to_string(tested.param.seed);
}

RunSettings settings_of(const Case& tested) {
    RunSettings settings = default_run(tested.kind);
    settings.seed = tested.seed;
    return settings;
}

/// Trains until the run ends by itself; returns the last validation.
ValidationPoint learn(TrainingRun& run) {
    ValidationPoint last;
    while (true) {
        if (run.evaluation_due()) last = run.evaluate();
        if (!run.finished().empty()) break;
        run.step();
    }
    std::printf("%s: step %lld, validation loss %.4f, accuracy %.4f\n", task_info(run.settings().task.kind).name,
                static_cast<long long>(last.step), last.loss, last.accuracy);
    return last;
}

/// The mean of -ln p over the validation set, with p from a table of followers counted elsewhere.
double table_loss(const std::vector<double>& counts, const Dataset& data) {
    const auto symbols = static_cast<std::size_t>(data.tokenizer().size());
    const Batch& all = data.validation();
    double sum = 0;
    for (std::size_t i = 0; i < all.targets.size(); ++i) {
        const auto row = counts.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(all.tokens.ids[i]) * symbols);
        const double whole = std::accumulate(row, row + static_cast<std::ptrdiff_t>(symbols), 0.0);
        sum -= std::log(*(row + all.targets[i]) / whole);
    }
    return sum / static_cast<double>(all.targets.size());
}

class Answers : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Learning, Answers,
                         testing::Values(Case{TaskKind::Copy, 1}, Case{TaskKind::Reverse, 2}, Case{TaskKind::Sort, 1},
                                         Case{TaskKind::Sort, 2}),
                         name_of);

TEST_P(Answers, AreRightAtEveryLengthForQuestionsNeverSeen) {
    // The complete default run, as from the command line.
    TrainingRun run(settings_of(GetParam()));
    EXPECT_LT(run.evaluate().accuracy, 0.2) << "untrained";
    const ValidationPoint last = learn(run);
    EXPECT_EQ(last.step, 2000);
    EXPECT_GE(last.accuracy, 0.99);
    ASSERT_GE(last.by_length.size(), 7U);
    EXPECT_EQ(last.by_length.back().length, run.settings().task.length);
    for (const LengthAccuracy& at : last.by_length) EXPECT_GE(at.accuracy, 0.95) << "questions of " << at.length;
}

class Sums : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Learning, Sums, testing::Values(Case{TaskKind::Addition, 1}, Case{TaskKind::Addition, 2}), name_of);

TEST_P(Sums, AreRightForPairsNeverSeen) {
    RunSettings settings = settings_of(GetParam());
    settings.stop.accuracy = 0.95;
    TrainingRun run(settings);
    EXPECT_LT(run.evaluate().accuracy, 0.1) << "untrained";
    EXPECT_GE(learn(run).accuracy, 0.95);
}

class Repetition : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Learning, Repetition, testing::Values(Case{TaskKind::Repeat, 1}, Case{TaskKind::Repeat, 2}), name_of);

TEST_P(Repetition, IsContinuedByAnInductionHead) {
    RunSettings settings = settings_of(GetParam());
    settings.stop.accuracy = 0.99;
    TrainingRun run(settings);
    const auto induction = [&] {
        double largest = 0;
        for (const HeadScore& head :
             score_heads(run.keep().parameters, run.dataset().probe_batch(), settings.train.forward, run.steps()).scores)
            largest = std::max(largest, head.induction);
        return largest;
    };
    EXPECT_LT(induction(), 0.3) << "untrained";
    EXPECT_GE(learn(run).accuracy, 0.95);
    EXPECT_GT(induction(), 0.8);
}

TEST(Learning, SumsOnPaperAreRightForNumbersNeverSeen) {
    RunSettings settings = default_run(TaskKind::Sum);
    settings.stop.accuracy = 0.99;
    TrainingRun run(settings);
    EXPECT_LT(run.evaluate().accuracy, 0.3) << "untrained";
    EXPECT_GE(learn(run).accuracy, 0.99);
}

/// The grammar leaves a little over 0.6 nats per word undetermined; a short run learns most of the rest.
TEST(Learning, StoriesAreHalfKnownAfterAShortRun) {
    RunSettings settings = default_run(TaskKind::Stories);
    settings.stop.loss = 1.19;
    TrainingRun run(settings);
    EXPECT_GT(run.evaluate().loss, 5) << "untrained";
    EXPECT_LT(learn(run).loss, 1.2);
}

TEST(Learning, SentencesAreTranslatedByLookingAtTheWordThatIsRendered) {
    TrainingRun run(default_run(TaskKind::Translate));
    EXPECT_LT(run.evaluate().accuracy, 0.1) << "untrained";
    const ValidationPoint last = learn(run);
    EXPECT_EQ(last.step, 1200);
    EXPECT_GE(last.accuracy, 0.99);
    const auto heads = score_heads(run.keep().parameters, run.dataset().probe_batch(), run.settings().train.forward, run.steps()).scores;
    for (const HeadScore& head : heads)
        EXPECT_TRUE(head.id.attention != kCrossAttention || head.entropy < 1) << "cross-attention knows where to look";
}

/// Hidden words are sometimes ambiguous; a short run finds most of the others.
TEST(Learning, HiddenWordsAreFoundAfterAShortRun) {
    RunSettings settings = default_run(TaskKind::FillIn);
    settings.stop.loss = 1.19;
    TrainingRun run(settings);
    EXPECT_GT(run.evaluate().loss, 5) << "untrained";
    EXPECT_LT(learn(run).loss, 1.2);
}

TEST(Learning, AChainIsKnownAsWellAsItsTable) {
    RunSettings settings = default_run(TaskKind::Bigram);
    const Dataset data(settings.task, settings.seed);
    // The table is counted from millions of symbols in batches that the run does not reach.
    const auto symbols = static_cast<std::size_t>(data.tokenizer().size());
    std::vector<double> counts(symbols * symbols, 1e-9);
    Batch batch;
    for (std::int64_t step = 1'000'000; step < 1'000'100; ++step) {
        data.training_batch(step, 1000, batch);
        for (std::size_t i = 0; i < batch.targets.size(); ++i)
            counts[static_cast<std::size_t>(batch.tokens.ids[i]) * symbols + static_cast<std::size_t>(batch.targets[i])] += 1;
    }
    const double table = table_loss(counts, data);
    settings.stop.loss = 1.02 * table;
    TrainingRun run(settings);
    EXPECT_GT(run.evaluate().loss, 1.3 * table) << "untrained";
    const ValidationPoint last = learn(run);
    EXPECT_LE(last.loss, 1.02 * table);
    EXPECT_GE(last.loss, 0.98 * table) << "nothing can know more than the table";
}

TEST(Learning, ATextIsKnownBetterThanByPairsOfCharacters) {
    RunSettings settings = default_run(TaskKind::Text);
    const Dataset data(settings.task, settings.seed);
    const auto symbols = static_cast<std::size_t>(data.tokenizer().size());
    std::vector<std::size_t> ids;
    for (const TextToken& token : data.tokenizer().encode(*sample_text())) ids.push_back(static_cast<std::size_t>(token.id));
    const std::size_t training = ids.size() - static_cast<std::size_t>(static_cast<double>(ids.size()) * settings.task.validation_share);
    std::vector<double> counts(symbols * symbols, 1);  // add-one smoothing
    for (std::size_t i = 0; i + 1 < training; ++i) counts[ids[i] * symbols + ids[i + 1]] += 1;
    const double table = table_loss(counts, data);
    std::printf("bigram table: %.4f\n", table);
    settings.stop.loss = 0.85 * table;
    TrainingRun run(settings);
    EXPECT_GT(run.evaluate().loss, 1.3 * table) << "untrained";
    EXPECT_LE(learn(run).loss, 0.85 * table);
}

TEST(NotLearning, WithoutALearningRateNothingChanges) {
    RunSettings settings = default_run(TaskKind::Copy);
    settings.train.schedule.rate = 0;
    settings.train.schedule.last_rate = 0;
    settings.stop.steps = 100;
    TrainingRun run(settings);
    const ValidationPoint untrained = run.evaluate(), last = learn(run);
    EXPECT_EQ(last.loss, untrained.loss);
    EXPECT_LT(last.accuracy, 0.2);
}

TEST(NotLearning, AnswersOfOtherQuestionsTeachNothing) {
    const RunSettings settings = default_run(TaskKind::Copy);
    const Dataset data(settings.task, settings.seed);
    TrainingState<float> state(initial_parameters<float>(TrainingRun(settings).settings().model));
    Batch batch;
    for (std::int64_t step = 0; step < 400; ++step) {
        data.training_batch(step, settings.batch_size, batch);
        std::rotate(batch.targets.begin(), batch.targets.begin() + batch.tokens.length, batch.targets.end());
        state.step(batch.tokens, {}, batch.targets, settings.train);
    }
    const Batch& all = data.validation();
    const CrossEntropy result = state.evaluate(all.tokens, {}, all.targets, settings.train);
    EXPECT_LT(static_cast<double>(result.correct) / static_cast<double>(result.counted), 0.3);
}

}  // namespace
}  // namespace attn
