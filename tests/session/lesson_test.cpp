/// Lessons: their files, their sentences, and every one played to its end by a real session.

#include "app/session/lesson.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "app/session/lesson_goal.hpp"
#include "app/session/presets.hpp"
#include "app/session/session.hpp"
#include "assets/embedded.hpp"
#include "engine/io/file_error.hpp"
#include "tests/engine/notebook_values.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app {
namespace {

using testing::HasSubstr;

TEST(Lessons, AreAllThereInTheOrderOfTheMenu) {
    std::vector<std::string> names;
    for (const auto& lesson : lessons()) names.push_back(lesson->name);
    EXPECT_EQ(names, (std::vector<std::string>{"tokens-and-embeddings", "one-head", "scaling-and-softmax", "masks", "many-heads",
                                               "the-block", "dropout", "watch-a-head-form"}));
    for (const auto& lesson : lessons()) {
        EXPECT_NE(find_embedded(embedded_assets(), "lessons/" + lesson->name + ".json"), nullptr) << lesson->name;
        EXPECT_GT(lesson->summary.size(), 30U) << lesson->name;
        EXPECT_EQ(find_lesson(lesson->name), lesson);
    }
}

/// A number with three decimals or more that somebody has typed, not quoted; "" when there is none.
std::string typed_number(const Caption& caption) {
    static const std::regex kNumber(R"(\d+\.\d{3,})");
    for (const CaptionPart& part : caption) {
        std::smatch found;
        if (std::regex_search(part.text, found, kNumber)) return found.str();
    }
    return "";
}

TEST(Lessons, QuoteTheirNumbersAndTypeNone) {
    for (const auto& lesson : lessons())
        for (const LessonStep& step : lesson->steps) EXPECT_EQ(typed_number(step.caption), "") << lesson->name << ", " << step.title;
    EXPECT_EQ(typed_number(parse_caption("the weight is 0.6119, not {weights[0,0,0,2]:4}", 0)), "0.6119");
}

/// What is wrong with a step as it has been brought to the screen; empty when nothing is.
std::vector<std::string> faults(const LessonStep& step, const Snapshot& snapshot, const TrainingReport& training) {
    std::vector<std::string> found;
    if (!snapshot.problem.empty()) found.push_back(snapshot.problem);
    if (snapshot.trace == nullptr) return {"there is no trace"};
    const RecordedStage<float>* stage = snapshot.trace->find(step.look.stage);
    if (stage == nullptr) return {"there is no stage " + tensor_name(step.look.stage)};
    if (step.look.head >= snapshot.trace->config.num_heads) found.emplace_back("there is no such head");
    if (step.look.sequence >= snapshot.trace->tokens.size()) found.emplace_back("there is no such sequence");
    for (const auto& [axis, index] : step.look.cell) {
        const bool has_axis = stage->value.shape().has(axis);
        if (!has_axis || index >= stage->value.shape().size_of(axis))
            found.push_back("the cell points outside " + stage->value.shape().text());
    }
    for (const CaptionPart& part : step.caption)
        if (part.quote && !quoted(*part.quote, snapshot, training)) found.push_back("{" + part.quote->source + "} quotes nothing");
    const std::string text = caption_text(step.caption, snapshot, training);
    if (text.size() < 80 || text.size() > 480) found.push_back("the caption has " + std::to_string(text.size()) + " bytes");
    if (step.title.empty() || step.title.size() > 28) found.push_back("the title \"" + step.title + "\" is empty or long");
    return found;
}

class PlayLesson : public testing::TestWithParam<std::string> {};

TEST_P(PlayLesson, ToItsEndAndBackToItsBeginning) {
    const auto lesson = find_lesson(GetParam());
    Session session(open_preset("multi-head"), no_wake);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < lesson->steps.size(); ++i) order.push_back(i);
    order.push_back(lesson->steps.size() / 2);
    order.push_back(0);
    for (const std::size_t i : order) {
        const LessonStep& step = lesson->steps[i];
        SCOPED_TRACE(std::to_string(i + 1) + ", " + step.title);
        play_step(session, step);
        const auto snapshot = session.wait(true);
        EXPECT_THAT(faults(step, *snapshot, session.training()), testing::IsEmpty());
        EXPECT_EQ(session.message(), "");
        ASSERT_NE(snapshot->verification, nullptr);
        EXPECT_TRUE(snapshot->verification->ok);
        EXPECT_FALSE(differs(step, session.document(), session.training()));
        if (!step.training) continue;
        const TrainingSnapshot& run = *session.training().snapshot;
        EXPECT_EQ(run.run, 1U) << "all steps share one run";
        EXPECT_EQ(run.phase, TrainingPhase::Finished) << run.message;
        EXPECT_EQ(snapshot->trained_step, step.training->moment.value_or(std::min(run.step, step.training->run.stop.steps)));
        if (step.training->run.stop.loss > 0) {
            EXPECT_LT(run.step, step.training->run.stop.steps) << "the loss that the step waits for is not reached within its steps";
            EXPECT_LE(session.training().runs.back().validations.back().loss, step.training->run.stop.loss);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, PlayLesson, testing::ValuesIn([] {
                             std::vector<std::string> names;
                             for (const auto& lesson : lessons()) names.push_back(lesson->name);
                             return names;
                         }()),
                         [](const auto& lesson) { return std::regex_replace(lesson.param, std::regex("-"), "_"); });

TEST(Lessons, AFaultyStepIsFound) {
    Session session(open_preset("numpy-single-head"), no_wake);
    const auto snapshot = session.wait(false);
    const auto with = [&](const std::string& fields, const std::string& caption = std::string(100, 'x')) {
        const Lesson lesson = parse_lesson(R"({"name": "a", "title": "b", "steps": [{"title": "c", "caption": ")" + caption +
                                               R"(", "preset": "numpy-single-head")" + fields + "}]}",
                                           "own");
        return faults(lesson.steps[0], *snapshot, session.training());
    };
    EXPECT_THAT(with(""), testing::IsEmpty());
    EXPECT_THAT(with(R"(, "stage": "logits")"), testing::ElementsAre(HasSubstr("logits")));
    EXPECT_THAT(with(R"(, "stage": "weights", "layer": 1)"), testing::SizeIs(1));
    EXPECT_THAT(with(R"(, "stage": "weights", "head": 1)"), testing::ElementsAre(HasSubstr("head")));
    EXPECT_THAT(with(R"(, "stage": "weights", "cell": {"S": 4})"), testing::ElementsAre(HasSubstr("outside")));
    EXPECT_THAT(with(R"(, "stage": "weights", "cell": {"C": 0})"), testing::ElementsAre(HasSubstr("outside")));
    EXPECT_THAT(with("", std::string(100, 'x') + "{weights[0,0,4,0]}"), testing::ElementsAre(HasSubstr("quotes nothing")));
    EXPECT_THAT(with("", std::string(100, 'x') + "{step}"), testing::ElementsAre(HasSubstr("quotes nothing")));
    EXPECT_THAT(with("", "short"), testing::SizeIs(1));
}

/// The numbers of the lesson are those that NumPy has printed.
TEST(Lessons, TheHeadByHandHasTheNumbersOfTheNotebook) {
    Session session(open_preset("numpy-single-head"), no_wake);
    const auto snapshot = session.wait(false);
    const auto quote = [&](const std::string& text) { return caption_text(parse_caption(text, 0), *snapshot, session.training()); };
    EXPECT_EQ(quote("{embedding[0,0,0]:4}"), "0.4967");
    EXPECT_EQ(quote("{q[0,0,0,0]:4}"), "1.1468");
    EXPECT_EQ(quote("{k[0,0,2,0]:4}"), "6.5307");
    EXPECT_EQ(quote("{scores[0,0,0,2]:4}"), "13.7956");
    EXPECT_EQ(quote("{scaled[0,0,0,2]:4}"), "5.6320");
    EXPECT_EQ(quote("{weights[0,0,0,2]:4}"), "0.6119");
    EXPECT_EQ(quote("{context[0,0,0,0]:4}"), "0.1903");
    double exponentials = 0;
    for (int s = 0; s < 4; ++s) exponentials += std::exp(notebook::kSingleScaled[s]);
    EXPECT_NEAR(std::stod(quote("{sumexp masked[0,0,0,*]:6}")), exponentials, 1e-3);
    EXPECT_NEAR(std::stod(quote("{exp masked[0,0,0,2]:6}")), std::exp(notebook::kSingleScaled[2]), 1e-3);
    EXPECT_NEAR(std::stod(quote("{sum weights[0,0,0,*]:6}")), 1, 1e-6);
    EXPECT_EQ(quote("{most weights[0,0,1,*]}"), "weigh");
    EXPECT_EQ(quote("{shape q}"), "[B=1, H=1, T=4, D=6]");
    EXPECT_EQ(quote("{min scores:3} {max scores:3}"), "−59.035 28.892");
    double sum = 0, squares = 0;
    for (const double x : notebook::kSingleScores) sum += x;
    for (const double x : notebook::kSingleScores) squares += (x - sum / 16) * (x - sum / 16);
    EXPECT_NEAR(std::stod(quote("{std scores:6}")), std::sqrt(squares / 16), 1e-4);
    EXPECT_NEAR(
        std::stod(quote("{mean k[0,0,1,*]:6}")),
        (2.446694901727883 + 3.6792701548892097 + 0.2530741607149912 - 0.055328073123892006 - 3.143456423839876 - 1.162248501937201) / 6,
        1e-5);
    EXPECT_EQ(quote("{step}{loss}{weights[0,0,9,9]}"), "………") << "what cannot be quoted is not made up";
}

TEST(Captions, QuoteMaskedCellsAndTokens) {
    Session session(open_preset("causal-attention"), no_wake);
    const auto snapshot = session.wait(false);
    const auto quote = [&](const std::string& text) { return caption_text(parse_caption(text, 0), *snapshot, session.training()); };
    EXPECT_EQ(quote("{masked[0,0,3,7]}"), "−∞");
    EXPECT_EQ(quote("{exp masked[0,0,3,7]}"), "0.000");
    EXPECT_EQ(quote("{zeros weights[0,0,3,*]}"), "6");
    EXPECT_EQ(quote("{token[1]} {token[1,1]} {token[1,9]}"), "cat mat <pad>");
    EXPECT_EQ(quote("{tokens[0,0]} {tokens[0,4]}"), "2 2");
    EXPECT_EQ(quote("{layers.0.attention.weights[0,0,0,0]:1}"), "1.0");
    EXPECT_NE(quote("{token_embedding.weight[3,0]:5}"), "…");
    EXPECT_EQ(quote("{token_embedding.weight[3,0]:5}"), quote("{token_embedding[0,1,0]:5}"));
}

/// One lesson file that is wrong in one place.
std::string refusal(const std::string& step, const std::string& before = R"("name": "own", "title": "Own", )") {
    try {
        parse_lesson("{" + before + R"("steps": [{"caption": "fine"}, )" + step + "]}", "my.json");
    } catch (const FileError& error) {
        return error.what();
    }
    return "";
}

TEST(LessonFiles, ErrorsNameFileStepAndField) {
    ASSERT_EQ(refusal(R"({"caption": "fine"})"), "") << "the frame of these tests is a lesson that can be read";
    const std::vector<std::pair<std::string, std::string>> steps = {
        {R"({})", "my.json, /steps/1/caption: "},
        {R"({"caption": 3})", "my.json, /steps/1/caption: "},
        {R"({"caption": "x {weights[0,0}"})", "my.json, /steps/1/caption: {weights[0,0}: "},
        {R"({"caption": "x {weight[0,0,0,0]}"})", "there is no stage \"weight\""},
        {R"({"caption": "x {weights}"})", "one number is meant"},
        {R"({"caption": "x {wild weights}"})", "\"wild\""},
        {R"({"caption": "x {weights[0,0,-1,0]}"})", "no index"},
        {R"({"caption": "x {weights[0,0,1,0]:99}"})", "12 decimals"},
        {R"({"caption": "x {step now}"})", "nothing more"},
        {R"({"caption": "x } y"})", "without a {"},
        {R"({"caption": "x { y"})", "without a }"},
        {R"({"caption": "x", "preset": "none"})", "my.json, /steps/1/preset: there is no preset"},
        {R"({"caption": "x", "view": "side"})", "my.json, /steps/1/view: "},
        {R"({"caption": "x", "stage": "attention"})", "my.json, /steps/1/stage: "},
        {R"({"caption": "x", "layer": -1})", "my.json, /steps/1/layer: "},
        {R"({"caption": "x", "head": 0.5})", "my.json, /steps/1/head: "},
        {R"({"caption": "x", "cell": {"T": -1}})", "my.json, /steps/1/cell/T: "},
        {R"({"caption": "x", "cell": {"Q": 1}})", "my.json, /steps/1/cell/Q: "},
        {R"({"caption": "x", "texts": []})", "my.json, /steps/1/texts: "},
        {R"({"caption": "x", "config": {"d_modell": 4}})", "my.json, /steps/1/config/d_modell: "},
        {R"({"caption": "x", "forward": {"masks": {"causal": 1}}})", "my.json, /steps/1/forward/masks/causal: "},
        {R"({"caption": "x", "panes": ["left"]})", "my.json, /steps/1/panes: there is no \"left\"; there are settings, cell, stages"},
        {R"({"caption": "x", "controls": ["mask"]})", "my.json, /steps/1/controls: "},
        {R"({"caption": "x", "moment": 3})", "my.json, /steps/1/moment: "},
        {R"({"caption": "x", "training": {}})", "my.json, /steps/1/training/task: "},
        {R"({"caption": "x", "training": {"task": "fly"}})", "my.json, /steps/1/training/task: "},
        {R"({"caption": "x", "training": {"task": "copy", "until": {"steps": 0}}})", "my.json, /steps/1/training/until/steps: "},
        {R"({"caption": "x", "training": {"task": "copy", "settings": {"batch_size": 0}}})", "my.json, /steps/1/training: "},
        {R"({"caption": "x", "training": {"task": "copy"}, "config": {}})", "my.json, /steps/1/config: "},
        {R"({"caption": "x", "sound": true})", "my.json, /steps/1/sound: "},
        {R"("x")", "my.json, /steps/1: "}};
    for (const auto& [step, expected] : steps) EXPECT_THAT(refusal(step), HasSubstr(expected)) << step;
    EXPECT_THAT(refusal(R"({"caption": "x"})", R"("title": "b", )"), HasSubstr("my.json, /name: "));
    EXPECT_THAT(refusal(R"({"caption": "x"})", R"("name": "b", )"), HasSubstr("my.json, /title: "));
    EXPECT_THROW(parse_lesson(R"({"name": "a", "title": "b", "steps": []})", "my.json"), FileError);
    EXPECT_THROW(parse_lesson("{", "my.json"), FileError);
    EXPECT_THROW(find_lesson("no-such-lesson"), Error);
}

TEST(LessonFiles, WhatAStepDoesNotSayStaysAsItWas) {
    const Lesson lesson = parse_lesson(R"({"name": "a", "title": "b", "steps": [
        {"caption": "1", "preset": "multi-head", "stage": "weights", "head": 2, "cell": {"T": 3, "S": 1}, "panes": ["cell"],
         "forward": {"masks": {"causal": true}}},
        {"caption": "2", "forward": {"temperature": 2}, "stage": "scores"},
        {"caption": "3", "preset": "self-attention", "cell": {}, "panes": ["stages"], "controls": ["masks"]}]})",
                                       "own");
    const LessonStep& second = lesson.steps[1];
    EXPECT_TRUE(second.document.forward.masks.causal);
    EXPECT_EQ(second.document.forward.temperature, 2);
    EXPECT_EQ(second.document.preset, "multi-head");
    EXPECT_EQ(second.document.look_at, "") << "the caption says what to look at";
    EXPECT_EQ(second.look.stage, (StageId{Stage::Scores, 0}));
    EXPECT_EQ(second.look.head, 2);
    EXPECT_EQ(second.look.cell, lesson.steps[0].look.cell);
    EXPECT_FALSE(second.look.settings);
    EXPECT_TRUE(second.look.inspector);
    EXPECT_TRUE(second.look.controls.all());
    EXPECT_FALSE(lesson.steps[2].document.forward.masks.causal) << "a preset begins anew";
    EXPECT_TRUE(lesson.steps[2].look.cell.empty());
    EXPECT_EQ(lesson.steps[2].look.controls.count(), 1U);
}

TEST(LessonGoals, AChangeOfTheLearnerIsSeenAndUndoneAndTheNextStepGoesOnFromTheLesson) {
    const auto lesson = find_lesson("masks");
    Session session(open_preset("multi-head"), no_wake);
    play_step(session, lesson->steps[1]);
    ForwardSettings changed = session.document().forward;
    changed.masks.causal = false;
    apply(session, command::SetForward{changed});
    EXPECT_TRUE(differs(lesson->steps[1], session.document(), session.training()));
    play_step(session, lesson->steps[1]);
    EXPECT_FALSE(differs(lesson->steps[1], session.document(), session.training()));
    apply(session, command::SetForward{changed});
    play_step(session, lesson->steps[2]);
    EXPECT_TRUE(session.document().forward.masks.causal);
}

TEST(LessonGoals, GiveBackWhatWasThereBefore) {
    Session session(open_preset("multi-head"), no_wake);
    apply(session, command::SetTexts{{"my own text", "and another"}, {}});
    apply(session, command::SetRun{small_run()});
    const Document before = session.document();
    for (const char* name : {"dropout", "watch-a-head-form"}) {
        play_step(session, find_lesson(name)->steps[1]);
        ASSERT_NE(session.document(), before);
        for (const Command& command : restore_document(before, session.training())) session.apply(command);
        EXPECT_EQ(session.document(), before) << name;
    }
    EXPECT_EQ(session.wait(false)->problem, "");
}

TEST(LessonGoals, ARunOfThePersonsOwnStaysUntilTheyLetItGo) {
    Session session(open_preset("multi-head"), no_wake);
    train(session);
    ASSERT_GT(session.training().snapshot->step, 0);
    const Document before = session.document();
    LessonGoal goal(find_lesson("watch-a-head-form")->steps[0]);
    EXPECT_TRUE(goal.next(session.document(), session.training()).empty());
    EXPECT_TRUE(goal.asks());
    EXPECT_FALSE(goal.done());
    // A lesson that trains nothing leaves the run alone, and its model comes back.
    play_step(session, find_lesson("masks")->steps[0]);
    for (const Command& command : restore_document(before, session.training())) session.apply(command);
    EXPECT_EQ(session.document(), before);
    EXPECT_TRUE(session.document().trained.has_value());
    goal.allow();
    EXPECT_FALSE(goal.next(session.document(), session.training()).empty());
    EXPECT_FALSE(goal.asks());
}

}  // namespace
}  // namespace attn::app
