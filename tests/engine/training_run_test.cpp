#include "engine/train/training_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "engine/tensor/error.hpp"
#include "engine/train/resume.hpp"

namespace attn {
namespace {

using testing::HasSubstr;

RunSettings small_run(TaskKind kind = TaskKind::Copy) {
    RunSettings run = default_run(kind);
    run.task.length = run.task.shortest = 4;
    run.task.symbols = 8;
    run.model.d_model = 16;
    run.model.num_heads = 2;
    run.model.d_ff = 24;
    run.batch_size = 6;
    run.evaluate_every = 5;
    run.stop = {};
    return run;
}

bool same_bits(const Parameters<float>& a, const Parameters<float>& b) {
    return a.count() == b.count() && std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.count()) * sizeof(float)) == 0;
}

/// Compares everything except the seconds.
void expect_same(LossPoint a, const LossPoint& b) {
    a.seconds = b.seconds;
    EXPECT_EQ(a, b);
}

TEST(TrainingRun, FillsInWhatFollowsFromTheTask) {
    RunSettings wanted = small_run();
    wanted.seed = 11;
    const TrainingRun run(wanted);
    EXPECT_EQ(run.settings().model.vocab_size, 9) << "eight symbols and the separator";
    EXPECT_EQ(run.settings().model.context_length, 8);
    EXPECT_EQ(run.settings().model.seed, 11U);
    EXPECT_EQ(run.settings().train.forward.dropout.seed, 11U);
    EXPECT_TRUE(same_model(wanted, run.settings()));
    EXPECT_EQ(run.steps(), 0);
    EXPECT_TRUE(same_bits(run.state().parameters(), initial_parameters<float>(run.settings().model)));
    ASSERT_EQ(run.history().moments().size(), 1U);
    EXPECT_EQ(run.history().moments()[0].step, 0);
}

TEST(TrainingRun, CountsStepsAndTokens) {
    TrainingRun run(small_run());
    double seconds = 0;
    for (std::int64_t step = 1; step <= 4; ++step) {
        const LossPoint point = run.step();
        EXPECT_EQ(point.step, step);
        EXPECT_EQ(point.tokens, step * 6 * 8);
        EXPECT_GT(point.seconds, seconds);
        EXPECT_GT(point.loss, 0);
        EXPECT_GT(point.gradient_norm, 0);
        EXPECT_DOUBLE_EQ(point.learning_rate, learning_rate(run.settings().train.schedule, step - 1));
        seconds = point.seconds;
    }
}

TEST(TrainingRun, DoesNotCountPadding) {
    RunSettings settings = small_run();
    settings.task.shortest = 1;
    TrainingRun run(settings);
    Batch batch;
    run.dataset().training_batch(0, settings.batch_size, batch);
    const auto tokens = std::accumulate(batch.tokens.lengths.begin(), batch.tokens.lengths.end(), std::int64_t{0});
    EXPECT_LT(tokens, 6 * 8);
    EXPECT_EQ(run.step().tokens, tokens);
}

TEST(TrainingRun, EvaluatesAtTheStartInBetweenAndAtTheEnd) {
    RunSettings settings = small_run();
    settings.stop.steps = 12;
    TrainingRun run(settings);
    std::vector<std::int64_t> evaluated;
    while (true) {
        if (run.evaluation_due()) {
            evaluated.push_back(run.evaluate().step);
            EXPECT_FALSE(run.evaluation_due()) << "once is enough";
        }
        if (!run.finished().empty()) break;
        run.step();
    }
    EXPECT_THAT(evaluated, testing::ElementsAre(0, 5, 10, 12));
    EXPECT_EQ(run.finished(), "12 steps done");
}

TEST(TrainingRun, EvaluationChangesNothing) {
    RunSettings settings = small_run();
    settings.train.forward.dropout.residual = 0.3;
    TrainingRun evaluated(settings), plain(settings);
    for (int i = 0; i < 6; ++i) {
        const ValidationPoint first = evaluated.evaluate(), second = evaluated.evaluate();
        EXPECT_EQ(first, second) << "without dropout";
        expect_same(evaluated.step(), plain.step());
    }
    EXPECT_TRUE(same_bits(evaluated.state().parameters(), plain.state().parameters()));
}

TEST(TrainingRun, EndsForEveryReason) {
    const auto end_of = [](const StopAt& stop, double rate) {
        RunSettings settings = small_run();
        settings.train.schedule.rate = rate;
        settings.stop = stop;
        TrainingRun run(settings);
        for (int i = 0; i < 200; ++i) {
            if (run.evaluation_due()) run.evaluate();
            if (const std::string why = run.finished(); !why.empty()) return std::to_string(run.steps()) + ": " + why;
            run.step();
        }
        return std::string("never");
    };
    EXPECT_EQ(end_of({.steps = 0}, 3e-3), "never");
    EXPECT_EQ(end_of({.steps = 7}, 3e-3), "7: 7 steps done");
    EXPECT_THAT(end_of({.steps = 0, .loss = 1.9}, 3e-3), HasSubstr("validation loss 1."));
    EXPECT_THAT(end_of({.steps = 0, .accuracy = 0.3}, 3e-3), HasSubstr("validation accuracy "));
    EXPECT_EQ(end_of({.steps = 0, .plateau = 4}, 0), "20: no better validation loss in 4 evaluations") << "nothing learned, nothing better";
    EXPECT_EQ(end_of({.steps = 0, .loss = 0.01, .accuracy = 1}, 0), "never");
}

TEST(TrainingRun, TakesOverWhatARunUnderWayCan) {
    TrainingRun run(small_run());
    run.step();
    RunSettings wanted = run.settings();
    wanted.train.schedule = {.rate = 0.25};
    wanted.train.adamw.weight_decay = 0.5;
    wanted.train.forward.dropout.residual = 0.2;
    wanted.train.forward.dropout.seed = 999;
    wanted.batch_size = 3;
    wanted.stop.steps = 9;
    wanted.model.num_layers = 5;
    wanted.task.length = 7;
    wanted.seed = 77;
    run.apply(wanted);
    EXPECT_EQ(run.settings().model.num_layers, 2) << "a new model waits for a new run";
    EXPECT_EQ(run.settings().task.length, 4);
    EXPECT_EQ(run.settings().seed, 1U);
    EXPECT_EQ(run.settings().train.forward.dropout.seed, 1U);
    EXPECT_EQ(run.settings().train.forward.dropout.residual, 0.2);
    EXPECT_FALSE(same_model(run.settings(), wanted));
    const LossPoint point = run.step();
    EXPECT_EQ(point.learning_rate, 0.25);
    EXPECT_EQ(point.tokens, (6 + 3) * 8);

    const RunSettings before = run.settings();
    for (const auto& spoil : {+[](RunSettings& s) { s.batch_size = 0; }, +[](RunSettings& s) { s.train.schedule.rate = -1; },
                              +[](RunSettings& s) { s.stop.accuracy = 1.5; }, +[](RunSettings& s) { s.evaluate_every = 0; },
                              +[](RunSettings& s) { s.train.forward.masks.causal = false; },
                              +[](RunSettings& s) { s.train.adamw.weight_decay = std::numeric_limits<double>::quiet_NaN(); }}) {
        RunSettings bad = before;
        bad.train.clip_norm = 0.125;
        spoil(bad);
        EXPECT_THROW(run.apply(bad), ConfigError);
        EXPECT_EQ(run.settings(), before);
    }
}

TEST(TrainingRun, KeepsParametersBitForBit) {
    const RunSettings settings = small_run();
    std::vector<Parameters<float>> all;
    TrainingRun plain(settings);
    all.push_back(plain.state().parameters());
    for (int i = 0; i < 40; ++i) {
        plain.step();
        all.push_back(plain.state().parameters());
    }
    // Room for only a few of them.
    const std::size_t one = static_cast<std::size_t>(all[0].count()) * sizeof(float);
    TrainingRun run(settings, 7 * one);
    for (int i = 0; i < 40; ++i) {
        run.step();
        ASSERT_LE(run.history().bytes(), 7 * one);
        for (const Moment& moment : run.history().moments())
            ASSERT_TRUE(same_bits(*moment.parameters, all[static_cast<std::size_t>(moment.step)])) << moment.step;
    }
    EXPECT_GE(run.history().moments().size(), 3U);
    EXPECT_EQ(run.history().moments().front().step, 0);
    const Moment newest = run.keep();
    EXPECT_EQ(newest.step, 40);
    EXPECT_TRUE(same_bits(*newest.parameters, run.state().parameters()));
    EXPECT_EQ(run.history().moments().back().step, 40);
    EXPECT_EQ(run.keep().parameters, newest.parameters) << "kept once";
}

TEST(TrainingRun, GoesOnWhereItWas) {
    RunSettings settings = small_run();
    settings.train.forward.dropout.attention = 0.1;
    TrainingRun whole(settings), later(settings);
    for (int i = 0; i < 7; ++i) whole.step();
    const TrainingState<float>& state = whole.state();
    later.restore(state.parameters(), state.optimizer().first_moments(), state.optimizer().second_moments(), whole.steps());
    EXPECT_EQ(later.steps(), 7);
    EXPECT_EQ(later.history().moments().front().step, 7);
    for (int i = 0; i < 5; ++i) {
        const LossPoint a = whole.step(), b = later.step();
        EXPECT_EQ(a.step, b.step);
        EXPECT_EQ(a.loss, b.loss);
        EXPECT_EQ(a.gradient_norm, b.gradient_norm);
        EXPECT_EQ(a.learning_rate, b.learning_rate);
    }
    EXPECT_TRUE(same_bits(whole.state().parameters(), later.state().parameters()));

    RunSettings wider = settings;
    wider.model.d_ff = 32;
    TrainingRun other(wider);
    const auto& moments = state.optimizer().first_moments();
    EXPECT_THROW(other.restore(state.parameters(), moments, moments, 7), ShapeError);
    EXPECT_THROW(later.restore(state.parameters(), std::span(moments).first(3), moments, 7), ShapeError);
    EXPECT_THROW(later.restore(state.parameters(), moments, moments, -1), ConfigError);
    EXPECT_EQ(later.steps(), 12) << "a refused state leaves the run as it was";
}

TEST(TrainingRun, WaitsAsLongForABetterLossWhenInterrupted) {
    RunSettings settings = small_run();
    settings.train.schedule.rate = 0;  // nothing learned, so nothing improves
    settings.evaluate_every = 5;
    settings.stop = {.steps = 0, .plateau = 4};
    // Resumed after every step, also after one that was just evaluated.
    auto run = std::make_unique<TrainingRun>(settings);
    while (run->steps() < 100) {
        if (run->evaluation_due()) run->evaluate();
        if (!run->finished().empty()) break;
        run->step();
        if (run->steps() % 2 == 0 && run->evaluation_due()) run->evaluate();
        run = resume_run(take_checkpoint(*run));
    }
    EXPECT_EQ(run->steps(), 20);
    EXPECT_EQ(run->finished(), "no better validation loss in 4 evaluations");
}

TEST(TrainingRun, NamesTheTensorThatWentBadFirst) {
    const RunSettings settings = small_run();
    TrainingRun run(settings);
    for (int i = 0; i < 3; ++i) run.step();
    const auto moments = run.state().optimizer().first_moments();
    const auto spoiled = [&](const char* name, float value) {
        Parameters<float> parameters = run.state().parameters();
        *parameters.find(name) = value;
        TrainingRun bad(settings);
        bad.restore(parameters, moments, moments, 3);
        try {
            bad.step();
        } catch (const NotFinite& error) {
            EXPECT_EQ(error.step(), 4);
            EXPECT_THAT(error.what(), HasSubstr("parameters are still those of step 3"));
            EXPECT_TRUE(same_bits(bad.state().parameters(), parameters));
            EXPECT_EQ(bad.steps(), 3);
            return error.tensor();
        }
        return std::string("nothing");
    };
    EXPECT_EQ(spoiled("layers.0.ffn.in.bias", 0.5F), "nothing");
    EXPECT_EQ(spoiled("layers.1.ffn.in.weight", std::numeric_limits<float>::quiet_NaN()), "layers.1.ffn.in.weight");
    EXPECT_EQ(spoiled("lm_head.weight", std::numeric_limits<float>::infinity()), "lm_head.weight");
    // All numbers of the model are finite, but not the results.
    EXPECT_THAT(spoiled("lm_head.weight", 3e38F), HasSubstr("logits"));
}

TEST(TrainingRun, StopsInTheMiddleOfAStepWithoutATrace) {
    TrainingRun run(small_run());
    run.step();
    const Parameters<float> before = run.state().parameters();
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(run.step(stop.get_token()), Cancelled);
    EXPECT_TRUE(same_bits(run.state().parameters(), before));
    EXPECT_EQ(run.steps(), 1);
    TrainingRun again(small_run());
    again.step();
    const LossPoint a = run.step(), b = again.step();
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.tokens, b.tokens);
}

TEST(TrainingRun, ALongerRunStretchesItsScheduleAndAShorterOneKeepsIt) {
    RunSettings settings = small_run();
    settings.train.schedule = {ScheduleKind::Cosine, 3e-3, 0, 2, 10};
    settings.stop.steps = 10;
    TrainingRun run(settings);
    for (int i = 0; i < 10; ++i) run.step();
    const auto total_after = [&](std::int64_t steps, std::int64_t total) {
        settings.stop.steps = steps;
        settings.train.schedule.total_steps = total;
        run.apply(settings);
        return run.settings().train.schedule.total_steps;
    };
    EXPECT_EQ(total_after(20, 10), 20);
    EXPECT_EQ(total_after(20, 10), 20) << "the same wish again";
    EXPECT_EQ(total_after(15, 10), 20) << "it ends before its schedule does";
    EXPECT_EQ(total_after(30, 10), 30);
    EXPECT_EQ(total_after(30, 25), 25) << "what is asked for by name is taken";
    EXPECT_EQ(total_after(40, 40), 40);
    EXPECT_GT(run.step().learning_rate, 0);
}

TEST(TrainingRun, SaysWhenNothingIsLearnedAnyMore) {
    RunSettings settings = small_run();
    settings.train.schedule = {ScheduleKind::Cosine, 3e-3, 0, 2, 10};
    settings.stop.steps = 20;
    EXPECT_EQ(learns_nothing(settings, 0), "");
    EXPECT_EQ(learns_nothing(settings, 9), "") << "one step is left";
    EXPECT_THAT(learns_nothing(settings, 10), HasSubstr("the learning rate is 0 from step 11 on"));
    EXPECT_EQ(learns_nothing(settings, 20), "") << "there is nothing to do";
    settings.stop.steps = 0;
    EXPECT_NE(learns_nothing(settings, 10), "");
    settings.train.schedule.last_rate = 1e-5;
    EXPECT_EQ(learns_nothing(settings, 10), "");
    settings.train.schedule.rate = settings.train.schedule.last_rate = 0;
    EXPECT_NE(learns_nothing(settings, 0), "");
}

TEST(TrainingRun, TellsAccuracyByLength) {
    RunSettings settings = small_run();
    settings.task.length = 6;
    settings.task.shortest = 1;
    TrainingRun run(settings);
    for (int i = 0; i < 30; ++i) run.step();
    const ValidationPoint point = run.evaluate();
    // The same model over all sequences at once, with padding.
    const Batch& all = run.dataset().validation();
    TrainingState<float> state(run.state().parameters());
    const CrossEntropy whole = state.evaluate(all.tokens, {}, all.targets, run.settings().train);
    EXPECT_NEAR(point.loss, whole.loss, 1e-6);
    EXPECT_DOUBLE_EQ(point.accuracy, static_cast<double>(whole.correct) / static_cast<double>(whole.counted));
    ASSERT_GE(point.by_length.size(), 5U);
    double correct = 0, counted = 0;
    for (const LengthAccuracy& at : point.by_length) {
        const double symbols =
            static_cast<double>(at.length * std::count(all.tokens.lengths.begin(), all.tokens.lengths.end(), 2 * at.length));
        EXPECT_GT(symbols, 0) << at.length;
        correct += at.accuracy * symbols;
        counted += symbols;
    }
    EXPECT_EQ(counted, static_cast<double>(whole.counted));
    EXPECT_NEAR(correct, static_cast<double>(whole.correct), 1e-9);
    for (const TaskKind kind : {TaskKind::Addition, TaskKind::Bigram, TaskKind::Text})
        EXPECT_TRUE(TrainingRun(small_run(kind)).evaluate().by_length.empty()) << task_info(kind).name;
}

TEST(TrainingRun, ScoresEveryHeadOfTheProbe) {
    TrainingRun run(small_run(TaskKind::Repeat));
    RunSettings settings = run.settings();
    settings.train.forward.dropout.attention = 0.5;
    const HeadPoint point = score_heads(run.keep().parameters, run.dataset().probe_batch(), settings.train.forward, 3);
    EXPECT_EQ(point.step, 3);
    EXPECT_EQ(point.scores.size(), 4U);
    const HeadPoint plain = score_heads(run.keep().parameters, run.dataset().probe_batch(), run.settings().train.forward, 3);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(point.scores[i].entropy, plain.scores[i].entropy) << "without dropout";
}

TEST(RunSettings, DefaultsAreAccepted) {
    for (const TaskInfo& info : tasks()) {
        const RunSettings run = default_run(info.kind);
        EXPECT_NO_THROW(validate(run)) << info.name;
        EXPECT_EQ(run.task.kind, info.kind);
        EXPECT_EQ(&task_info(info.kind), &info);
        EXPECT_GT(run.stop.steps, 0) << "it ends by itself";
        EXPECT_EQ(run.train.schedule.total_steps, run.stop.steps);
    }
}

TEST(RunSettings, RefuseModelsThatCannotBeTrained) {
    const auto refused = [](void (*spoil)(RunSettings&)) {
        RunSettings run = small_run();
        spoil(run);
        EXPECT_THROW(validate(run), ConfigError);
        EXPECT_THROW(TrainingRun{run}, ConfigError);
    };
    refused([](RunSettings& s) { s.model.architecture = Architecture::EncoderDecoder; });
    refused([](RunSettings& s) { s.model.lm_head = false; });
    refused([](RunSettings& s) { s.model.d_model = 15; });
    refused([](RunSettings& s) { s.train.forward.masks.causal = false; });
    refused([](RunSettings& s) { s.train.forward.masks.prefix = 2; });
    refused([](RunSettings& s) { s.train.adamw.beta1 = 1; });
    refused([](RunSettings& s) { s.batch_size = 5000; });
}

}  // namespace
}  // namespace attn
