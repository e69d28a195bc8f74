/// What is shown becomes a step of a lesson file, and the step shows it again; what no lesson can show is refused.

#include "app/session/lessons/lesson_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "app/session/document/presets.hpp"
#include "app/session/lessons/lesson_check.hpp"
#include "app/session/lessons/lesson_goal.hpp"
#include "app/session/play_step.hpp"
#include "app/session/session.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/input_file.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class LessonWriter : public testing::Test {
protected:
    std::filesystem::path file() const { return folder.path() / "my-lesson.json"; }
    std::shared_ptr<const Lesson> add(const Document& document, const Look& look, const StepWords& words = {"Title", "A sentence."}) {
        return append_lesson_step(file(), lesson_step(document, look, run, words));
    }
    std::string refusal(const Document& document, const Look& look, const StepWords& words = {"Title", "A sentence."}) {
        try {
            lesson_step(document, look, run, words);
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }
    std::string text() const { return read_whole_file(file(), {.max_bytes = 1 << 20, .stop = {}}); }

    RunStatus run;
    const attn::test::TemporaryFolder folder;
};

/// Every field that differs from the example comes back.
TEST_F(LessonWriter, AStepShowsTheSameAgain) {
    Document document = open_preset("stories");
    document.look_at.clear();
    document.texts = {"Tom gives a red ball to Lily because she is sad . Who has the ball ?", "Lily is sad ."};
    document.forward.masks.causal = false;
    document.forward.temperature = 0.5;
    document.forward.dropout = {.attention = 0.25, .seed = 7};
    document.forward.edits = {
        Edit{.kind = EditKind::Set, .at = {Stage::Weights, 0}, .sequence = 0, .head = 1, .row = 2, .column = 0, .value = 0.5}};
    Look look;
    look.view = View::KnockOut;
    look.stage = {Stage::Weights, 1};
    look.head = 2;
    look.sequence = 1;
    look.cell = {{Axis::T, 3}, {Axis::S, 1}};
    look.measure = AnswerMeasure::Probability;
    look.settings = false;
    const auto lesson = add(document, look, {"A title", "The weight is {layers.1.attention.weights[0,2,3,1]}."});
    ASSERT_EQ(lesson->steps.size(), 1U);
    EXPECT_EQ(lesson->title, "My lesson");
    EXPECT_EQ(lesson->steps[0].title, "A title");
    EXPECT_EQ(lesson->steps[0].look, look);
    EXPECT_EQ(lesson->steps[0].document.texts, document.texts);
    EXPECT_EQ(lesson->steps[0].document.forward, document.forward);
    EXPECT_EQ(lesson->steps[0].document.shipped, document.shipped);
}

/// What the step before has set is not taken over.
TEST_F(LessonWriter, StepsInheritNothing) {
    Document first = open_preset("gpt-tiny"), second = open_preset("causal-attention");
    Look with;
    with.up_to = 0;
    with.rollout = false;
    with.replaced_from = 1;
    with.replaced = ReplacedParts::Blocks;
    with.against = 3;
    first.texts.push_back(first.texts.front());
    add(first, with);
    const auto lesson = add(second, Look{});
    ASSERT_EQ(lesson->steps.size(), 2U);
    EXPECT_EQ(lesson->steps[0].look, with);
    EXPECT_EQ(lesson->steps[1].look, Look{});
    EXPECT_EQ(lesson->steps[1].document.texts, second.texts);
}

TEST_F(LessonWriter, ARunIsTrainedAgainUpToItsStep) {
    RunSettings settings = default_run(TaskKind::Repeat);
    settings.stop = {.steps = 6};
    settings.batch_size = 4;
    Session session(open_preset("gpt-tiny"), no_wake);
    session.apply({command::SetRun{settings}, ""});
    session.apply({command::RestartTraining{}, ""});
    session.wait_for_training();
    session.apply({command::ShowMoment{4}, ""});
    session.wait();
    run = *session.training().status;
    const Document shown = session.document();
    Look look;
    look.stage = {Stage::Weights, 0};
    const auto lesson = add(shown, look);
    const LessonStep& step = lesson->steps.at(0);
    ASSERT_TRUE(step.training);
    EXPECT_TRUE(same_model(step.training->run, run.settings));
    EXPECT_EQ(step.training->moment, shown.trained->step);
    Session other(open_preset("gpt-tiny"), no_wake);
    play_step(other, step);
    EXPECT_EQ(other.wait()->trained_step, session.snapshot()->trained_step);
    EXPECT_EQ(other.document().texts, shown.texts);
}

/// Trained anew, it would have today's settings from its first step.
TEST_F(LessonWriter, ABranchAndAChangedRunAreRefused) {
    Session session(open_preset("causal-attention"), no_wake);
    const auto outcome = [&] {
        Look look;
        look.stage = {Stage::Weights, 0};
        session.apply({command::MakeLessonStep{file(), "Title", "x", look}, ""});
        session.wait_for_files();
        return session.files().notice;
    };
    train(session, small_run(12));
    RunSettings slower = small_run(24);
    slower.train.schedule.rate = 1e-4;
    train(session, slower);
    ASSERT_FALSE(session.training().runs.back().changes.empty());
    EXPECT_THAT(outcome(), HasSubstr("cannot train a branch"));
    session.apply({command::RestartTraining{}, ""});
    session.wait_for_training();
    session.apply({command::BranchRun{}, ""});
    session.wait_for_training();
    ASSERT_TRUE(session.training().runs.back().origin);
    EXPECT_THAT(outcome(), HasSubstr("cannot train a branch"));
    EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(LessonWriter, WhatNoLessonCanShowIsRefused) {
    const Document document = open_preset("gpt-tiny");
    EXPECT_EQ(refusal(document, Look{}), "");
    Document written = document;
    written.written = {0, {1, 2}};
    EXPECT_THAT(refusal(written, Look{}), HasSubstr("written words"));
    Look pinned;
    pinned.compare = Compare::Pinned;
    EXPECT_THAT(refusal(document, pinned), HasSubstr("compared"));
    Look doctor;
    doctor.view = View::Doctor;
    EXPECT_THAT(refusal(document, doctor), HasSubstr("in a file"));
    Document gone = document;
    gone.trained = TrainedModel{3, 1};
    EXPECT_THAT(refusal(gone, Look{}), HasSubstr("current training run"));
    EXPECT_THAT(refusal(document, Look{}, {"Title", "{weights[0,0}"}), HasSubstr("{weights[0,0}"));
}

/// What has no field in a lesson's file is noticed when the step is read again.
TEST_F(LessonWriter, AStepThatWouldShowSomethingElseIsRefused) {
    Document other_ids = open_preset("gpt-tiny");
    other_ids.vocabulary_texts.insert(other_ids.vocabulary_texts.begin(), "zebra");
    EXPECT_THAT(refusal(other_ids, Look{}), HasSubstr("something in these settings"));
    Look few_controls;
    few_controls.controls.reset();
    EXPECT_THAT(refusal(open_preset("gpt-tiny"), few_controls), HasSubstr("something in this view"));
}

/// A file of another kind, or a lesson with a mistake, stays as it is.
TEST_F(LessonWriter, AFileThatIsNoLessonStaysAsItIs) {
    const Json step = lesson_step(open_preset("gpt-tiny"), Look{}, run, {"Title", "x"});
    for (const char* before : {"{\"format\": \"attnscope-document/1\"}", "{\n  \"name\": 3\n}", "[]", "{"}) {
        std::ofstream(file()) << before;
        EXPECT_THROW(append_lesson_step(file(), step), FileError) << before;
        EXPECT_EQ(text(), before);
    }
}

TEST_F(LessonWriter, AStepThatWouldNotOpenIsNotWritten) {
    Look outside;
    outside.stage = {Stage::Weights, 0};
    outside.head = 99;
    const Json step = lesson_step(open_preset("gpt-tiny"), outside, run, {"Title", "x"});
    EXPECT_THROW(append_lesson_step(file(), step), FileError);
    EXPECT_FALSE(std::filesystem::exists(file()));
}

std::string reading_error(const std::string& json) {
    try {
        read_lesson(json, "my.json");
    } catch (const FileError& error) {
        return error.what();
    }
    return "";
}

TEST(LessonErrors, SayLineAndColumn) {
    EXPECT_THAT(
        reading_error("{\"name\": \"a\",\n  \"title\": \"b\",\n  \"steps\": [\n    { \"caption\": \"x\", \"view\": \"side\" }\n  ]\n}"),
        StartsWith("my.json, line 4, column 23 (/steps/0/view): "));
    EXPECT_THAT(reading_error("{\"name\": \"a\",\n  \"title\": \"b\",,\n}"), StartsWith("my.json, line 2, column 16: is not valid JSON"));
    EXPECT_THAT(reading_error("{\"name\": \"é\", \"title\": \"b\", \"steps\": [{\"caption\": \"x\"}, {}]}"),
                StartsWith("my.json, line 1, column 57 (/steps/1/caption): "))
        << "columns are characters, and a missing field is in its object";
    EXPECT_THAT(reading_error("{\"name\": \"a\", \"title\": \"b\", \"steps\": [{\"caption\": \"x {weights[0,9,0,0]}\"}]}"),
                StartsWith("my.json, line 1, column 40 (/steps/0/caption): "))
        << "what the check finds, too";
    EXPECT_EQ(reading_error("{\"name\": \"a\", \"title\": \"b\", \"steps\": [{\"caption\": \"x\"}]}"), "");
}

}  // namespace
}  // namespace attn::app
