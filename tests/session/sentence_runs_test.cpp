/// Translation and fill-in runs as shown in the window.

#include <gtest/gtest.h>

#include <algorithm>

#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/session/values/sample.hpp"
#include "app/session/values/verification.hpp"
#include "engine/generate/generate.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/reference/verification.hpp"
#include "engine/tasks/dataset.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app {
namespace {

RunSettings small_sentences(TaskKind kind) {
    RunSettings run = default_run(kind);
    if (kind == TaskKind::FillIn) run.task.length = 18;
    run.model.d_model = 16;
    run.model.num_heads = 2;
    run.model.num_layers = 1;
    run.model.d_ff = 16;
    run.batch_size = 4;
    run.evaluate_every = 6;
    run.stop = {.steps = 12};
    return run;
}

std::vector<std::string> in_list(const std::string& text) { return {text}; }

TEST(SentenceRuns, ATranslationIsShownWithItsSourceAndCrossAttention) {
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session, small_sentences(TaskKind::Translate));
    const RunStatus& run = *session.training().status;
    ASSERT_EQ(run.phase, TrainingPhase::Finished) << run.message;
    EXPECT_NE(run.probe_source, "");
    EXPECT_EQ(session.document().texts, in_list(run.probe));
    EXPECT_EQ(session.document().source_texts, in_list(run.probe_source));
    const auto shown = session.wait();
    ASSERT_EQ(shown->problem, "");
    EXPECT_EQ(shown->trained_step, 12);
    ASSERT_NE(shown->trace->find({Stage::Weights, 0, Stack::Decoder, kCrossAttention}), nullptr);
    EXPECT_FALSE(shown->source_tokens.at(0).empty());
    EXPECT_TRUE(session.get(facet::Verification{})->ok);
    const auto& scores = session.training().runs.back().heads.back().scores;
    for (const StageId& id : {StageId{Stage::Weights, 0, Stack::Encoder}, StageId{Stage::Weights, 0, Stack::Decoder},
                              StageId{Stage::Weights, 0, Stack::Decoder, kCrossAttention}})
        EXPECT_EQ(std::count_if(scores.begin(), scores.end(), [&](const HeadScore& score) { return score.id == id; }), 2)
            << tensor_name(id);
}

TEST(SentenceRuns, ATranslationIsRewoundAndAnswersItsSource) {
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session, small_sentences(TaskKind::Translate));
    const auto last = session.wait();
    for (const std::int64_t step : {0, 12}) {
        apply(session, command::ShowMoment{step});
        const auto shown = session.wait();
        ASSERT_EQ(shown->problem, "");
        EXPECT_EQ(shown->trained_step, step);
        EXPECT_EQ(same_numbers(*shown->trace->parameters, *last->trace->parameters), step == 12);
        const SamplingSettings greedy{.temperature = 0, .tokens = 25};
        const auto sample = session.get(facet::Sample{greedy});
        const Trace<float>& trace = *shown->trace;
        const std::vector<std::int32_t>&text = trace.tokens.ids, &source = trace.source_tokens.ids;
        const auto expected =
            generate(*trace.parameters, {std::span(text).first(1), source, std::span(source).last(1)}, trace.settings, greedy);
        ASSERT_EQ(sample->tokens.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(sample->tokens[i].id, expected[i]);
    }
}

TEST(SentenceRuns, OnesOwnSentenceStaysWhileTheRunAndItsSuccessorGoOn) {
    Session session(open_preset(kDefaultPreset), no_wake);
    RunSettings run = small_sentences(TaskKind::Translate);
    train(session, run);
    const std::vector<std::string> text{"> le mira"}, source{"the small cat sees a red fox ."};
    apply(session, command::SetTexts{text, source});
    ASSERT_EQ(session.wait()->problem, "");
    apply(session, command::StepTraining{});
    session.wait_for_training();
    EXPECT_EQ(session.document().source_texts, source);
    run.seed = 2;
    apply(session, command::SetRun{run});
    apply(session, command::RestartTraining{});
    session.wait_for_training();
    EXPECT_EQ(session.training().status->run, 2U);
    EXPECT_EQ(session.document().texts, text);
    EXPECT_EQ(session.document().source_texts, source);
    EXPECT_EQ(session.wait()->problem, "");
    // A run for another task is not affected.
    train(session, small_sentences(TaskKind::FillIn));
    apply(session, command::RestartTraining{});
    session.wait_for_training();
    EXPECT_TRUE(session.document().source_texts.empty());
    EXPECT_EQ(session.wait()->problem, "");
}

TEST(SentenceRuns, ExamplesMarkTheWordsOfTheAnswer) {
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session, small_sentences(TaskKind::Translate));
    session.wait();
    const auto answers = session.get(held_out(session));
    EXPECT_EQ(answers->step, session.training().status->step);
    const auto& examples = answers->examples;
    ASSERT_FALSE(examples.empty());
    for (const HeldOutExample& example : examples) {
        EXPECT_FALSE(example.source.empty());
        ASSERT_EQ(example.right.size(), example.tokens.size());
        ASSERT_EQ(example.predicted.size(), example.tokens.size());
        EXPECT_EQ(example.tokens.front(), ">");
        EXPECT_EQ(example.right.front(), -1);
        EXPECT_EQ(example.tokens.back(), example.source.back()) << "the end of the answer, which is only predicted";
        for (std::size_t i = 1; i < example.tokens.size(); ++i)
            EXPECT_EQ(example.right[i], example.predicted[i] == example.tokens[i] ? 1 : 0);
    }
}

/// Before a run: the sequence whose attention it will show, and the places that its data ask for.
TEST(SentenceRuns, ATaskHasAnExampleBeforeItsFirstRun) {
    Session session(open_preset(kDefaultPreset), no_wake);
    for (const TaskInfo& info : tasks()) {
        const RunSettings run = default_run(info.kind);
        const auto answer = session.compute(nullptr, facet::TaskExample{run.task, run.seed});
        ASSERT_TRUE(answer) << info.name << answer.problem;
        const Dataset dataset(run.task, run.seed);
        const Batch batch = dataset.probe_batch();
        std::vector<std::string> asked;
        for (const std::int32_t target : batch.targets)
            if (target != kIgnoredTarget) asked.push_back(dataset.tokenizer().vocabulary()[static_cast<std::size_t>(target)]);
        ASSERT_FALSE(asked.empty()) << info.name;
        std::vector<std::string> marked;
        for (std::size_t i = 0; i < answer->tokens.size(); ++i)
            if (answer->right.at(i) == 0) marked.push_back(answer->tokens[i]);
        EXPECT_EQ(marked, asked) << info.name;
        EXPECT_EQ(std::count(answer->predicted.begin(), answer->predicted.end(), ""), std::ssize(answer->tokens)) << "nobody has answered";
        EXPECT_EQ(answer->source.empty(), info.kind != TaskKind::Translate) << info.name;
    }
    TaskSettings impossible;
    impossible.length = 0;
    const auto broken = session.compute(nullptr, facet::TaskExample{impossible, 1});
    EXPECT_FALSE(broken);
    EXPECT_NE(broken.problem, "");
}

TEST(SentenceRuns, ExamplesShowWhatWasHiddenInItsPlace) {
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session, small_sentences(TaskKind::FillIn));
    const RunStatus& run = *session.training().status;
    ASSERT_EQ(run.phase, TrainingPhase::Finished) << run.message;
    EXPECT_NE(run.probe.find(kBlank), std::string::npos);
    EXPECT_FALSE(session.document().forward.masks.causal);
    const auto shown = session.wait();
    ASSERT_EQ(shown->problem, "");
    EXPECT_TRUE(session.get(facet::Verification{})->ok);
    EXPECT_NE(session.compute(facet::Sample{session.document().sampling}).problem, "") << "it does not write on";
    const auto answers = session.get(held_out(session));
    ASSERT_FALSE(answers->examples.empty());
    for (const HeldOutExample& example : answers->examples) {
        int asked = 0;
        for (std::size_t i = 0; i < example.tokens.size(); ++i) {
            EXPECT_NE(example.tokens[i], kBlank);
            if (example.right[i] < 0) continue;
            ++asked;
            EXPECT_EQ(example.right[i] == 1, example.predicted[i] == example.tokens[i]);
        }
        EXPECT_GT(asked, 0);
    }
}

TEST(SentenceRuns, AreTrainedRightAndBroken) {
    for (const TaskKind kind : {TaskKind::Translate, TaskKind::FillIn}) {
        Session session(open_preset(kDefaultPreset), no_wake);
        RunSettings run = small_sentences(kind);
        run.train.forward.mistake = Mistake::NoScale;
        apply(session, command::SetRun{run});
        apply(session, command::TrainBoth{});
        session.wait_for_training();
        const TrainingReport& report = session.training();
        ASSERT_EQ(report.runs.size(), 2U);
        EXPECT_EQ(report.runs[0].settings.train.forward.mistake, Mistake::None);
        EXPECT_EQ(report.runs[1].settings.train.forward.mistake, Mistake::NoScale);
        EXPECT_EQ(report.runs[1].losses.size(), 12U);
        EXPECT_NE(report.runs[0].losses.back().loss, report.runs[1].losses.back().loss);
    }
}

}  // namespace
}  // namespace attn::app
