/// Lessons: their files, their captions, and each one played to the end in a real session.

#include "app/session/lessons/lesson.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>

#include "app/session/document/presets.hpp"
#include "app/session/lessons/lesson_check.hpp"
#include "app/session/lessons/lesson_goal.hpp"
#include "app/session/play_step.hpp"
#include "app/session/session.hpp"
#include "app/session/values/knock_out.hpp"
#include "app/session/values/verification.hpp"
#include "assets/embedded.hpp"
#include "engine/io/file_error.hpp"
#include "engine/reference/verification.hpp"
#include "tests/engine/notebook_values.hpp"
#include "tests/support/fake_run.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app {
namespace {

using testing::HasSubstr;

TEST(Lessons, NamesAreThoseOfTheMenuInItsOrder) {
    std::vector<std::string> names;
    for (const auto& lesson : lessons()) names.push_back(lesson->name);
    ASSERT_GT(names.size(), 2U);
    EXPECT_EQ(lesson_names(), names);
}

TEST(Lessons, AreAllThereInTheOrderOfTheMenu) {
    std::vector<std::string> names;
    for (const auto& lesson : lessons()) names.push_back(lesson->name);
    EXPECT_EQ(names, (std::vector<std::string>{"tour", "tokens-and-embeddings", "one-head", "scaling-and-softmax", "masks", "many-heads",
                                               "the-block", "dropout", "find-the-name", "follow-the-name", "watch-a-head-form",
                                               "how-translation-aligns", "your-own-attention"}));
    for (const auto& lesson : lessons()) {
        EXPECT_NE(find_embedded(embedded_assets(), "lessons/" + lesson->name + ".json"), nullptr) << lesson->name;
        EXPECT_GT(lesson->summary.size(), 30U) << lesson->name;
        EXPECT_EQ(find_lesson(lesson->name), lesson);
    }
}

/// A number with at least three decimals that is written out instead of quoted; "" if there is none.
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
    for (const auto& lesson : lessons())
        for (const LessonStep& step : lesson->steps)
            if (step.question) {
                EXPECT_EQ(typed_number(parse_caption(step.question->text, 0)), "") << lesson->name << ", " << step.title;
                for (const LessonAnswer& answer : step.question->answers) EXPECT_EQ(typed_number({{answer.text, {}}}), "") << answer.text;
            }
    EXPECT_EQ(typed_number(parse_caption("the weight is 0.6119, not {weights[0,0,0,2]:4}", 0)), "0.6119");
}

/// What is wrong with a step as shown on screen; empty if nothing is.
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
    for (const Claim& claim : step.claims)
        if (!holds(claim, snapshot, training).value_or(false)) found.push_back("not true: " + claim_words(claim, snapshot, training));
    if (step.question && !right_answer(*step.question, snapshot, training)) {
        found.emplace_back("not exactly one answer is right:");
        for (const LessonAnswer& answer : step.question->answers) found.back() += " " + claim_words(answer.when, snapshot, training);
    }
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
        const auto snapshot = session.wait();
        EXPECT_THAT(faults(step, *snapshot, session.training()), testing::IsEmpty());
        EXPECT_EQ(session.message(), "");
        EXPECT_TRUE(session.get(facet::Verification{})->ok);
        EXPECT_FALSE(differs(step, session.document(), session.training()));
        if (!step.training) continue;
        const RunStatus& run = *session.training().status;
        EXPECT_EQ(run.run, 1U) << "all steps share one run";
        EXPECT_EQ(run.phase, TrainingPhase::Finished) << run.message;
        EXPECT_EQ(snapshot->trained_step, step.training->moment.value_or(std::min(run.step, step.training->run.stop.steps)));
        if (step.training->run.stop.loss > 0) {
            EXPECT_LT(run.step, step.training->run.stop.steps) << "the loss that the step waits for is not reached within its steps";
            EXPECT_LE(session.training().runs.back().validations.back().loss, step.training->run.stop.loss);
        }
    }
}

// By their names only: lessons() would read their models in every process of this program.
INSTANTIATE_TEST_SUITE_P(All, PlayLesson, testing::ValuesIn(lesson_names()),
                         [](const auto& lesson) { return std::regex_replace(lesson.param, std::regex("-"), "_"); });

TEST(Lessons, AFaultyStepIsFound) {
    Session session(open_preset("numpy-single-head"), no_wake);
    const auto snapshot = session.wait();
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
    EXPECT_THAT(with(R"(, "claims": ["{weights[0,0,0,2]} > 0.6"])"), testing::IsEmpty());
    EXPECT_THAT(with(R"(, "claims": ["{weights[0,0,0,2]} > 0.7"])"), testing::ElementsAre(HasSubstr("is 0.612")));
}

TEST(Lessons, AskWhatOneCanThinkAbout) {
    std::size_t questions = 0;
    for (const auto& lesson : lessons()) {
        for (const LessonStep& step : lesson->steps) {
            if (!step.question) continue;
            ++questions;
            EXPECT_TRUE(step.question->text.ends_with('?')) << step.question->text;
            EXPECT_LE(step.question->text.size(), 160U) << step.question->text;
            for (const LessonAnswer& answer : step.question->answers) EXPECT_LE(answer.text.size(), 60U) << answer.text;
        }
    }
    EXPECT_GE(questions, 15U);
}

TEST(Lessons, WhatIsAboutMeaningShowsTrainedModels) {
    for (const char* name : {"tokens-and-embeddings", "one-head", "scaling-and-softmax", "masks", "many-heads", "the-block", "dropout",
                             "find-the-name", "follow-the-name", "how-translation-aligns"}) {
        const auto lesson = find_lesson(name);
        EXPECT_TRUE(std::any_of(lesson->steps.begin(), lesson->steps.end(), [](const LessonStep& step) {
            return step.document.shipped != nullptr && !step.training;
        })) << name;
    }
}

/// What the captions say of the pictures of swapped places and heads, which no caption can quote.
TEST(Lessons, TheNameIsDecidedWhereTheLessonSays) {
    const auto lesson = find_lesson("follow-the-name");
    Session session(lesson->steps.front().document, no_wake);
    const auto snapshot = session.wait();
    const TokenBatch& tokens = snapshot->trace->tokens;
    KnockOutQuestion question;
    question.place = {0, 23, tokens.ids.at(0)};
    question.patch = {1, 0};
    const auto changes = [&](ReplacedParts parts) {
        question.parts = parts;
        const auto found = session.compute(facet::KnockOut{question}).value;
        std::map<std::pair<int, std::int64_t>, double> strong;  // layer and head, or layer that is entered and position
        for (const PartWorth& part : found->parts)
            if (const double change = part.without - found->with_all; std::abs(change) > 0.2)
                strong[{part.stage.layer + (parts == ReplacedParts::Positions ? 1 : 0), part.index}] = change;
        return strong;
    };
    const auto positions = changes(ReplacedParts::Positions), heads = changes(ReplacedParts::Heads);
    std::set<std::pair<int, std::int64_t>> places, names;
    for (const auto& [place, change] : positions) {
        places.insert(place);
        EXPECT_LT(change, 0);
    }
    for (const auto& [head, change] : heads) names.insert(head);
    EXPECT_EQ(places, (std::set<std::pair<int, std::int64_t>>{{0, 0}, {1, 8}, {2, 23}, {3, 23}}));
    EXPECT_EQ(names, (std::set<std::pair<int, std::int64_t>>{{0, 0}, {1, 2}}));
}

TEST(Lessons, TheTourNamesTheHeadThatIsMissedMost) {
    const LessonStep& step = find_lesson("tour")->steps.at(4);
    EXPECT_EQ(step.look.measure, AnswerMeasure::Probability);
    Session session(step.document, no_wake);
    const auto snapshot = session.wait();
    KnockOutQuestion question;
    question.place = {0, 16, snapshot->trace->tokens.ids.at(6)};
    const auto found = session.compute(facet::KnockOut{question}).value;
    std::map<std::pair<int, std::int64_t>, double> without;
    for (const PartWorth& part : found->parts) without[{part.stage.layer, part.index}] = part.without;
    const auto least = std::min_element(without.begin(), without.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    EXPECT_EQ(least->first, (std::pair<int, std::int64_t>(0, 2)));
    EXPECT_LT(least->second, 0.3);
    EXPECT_GT(without.at({1, 2}), 0.9);
    // Without it, the model says Tom.
    ForwardSettings forward = step.document.forward;
    forward.edits.push_back({.kind = EditKind::Scale, .at = {Stage::Context, 0}, .head = 2, .value = 0});
    session.apply({command::SetForward{forward}, ""});
    const auto broken = session.wait();
    EXPECT_EQ(caption_text(parse_caption("{most probabilities[0,16,*]}", 0), *broken, session.training()), "Tom");
}

/// The lesson's numbers are those printed by NumPy.
TEST(Lessons, TheHeadByHandHasTheNumbersOfTheNotebook) {
    Session session(open_preset("numpy-single-head"), no_wake);
    const auto snapshot = session.wait();
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
    const auto snapshot = session.wait();
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

TEST(LessonGoals, TheLearnersChangesAreDetectedAndUndoneAndTheNextStepContinuesTheLesson) {
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
    EXPECT_EQ(session.wait()->problem, "");
}

TEST(LessonGoals, AStepThatIsNotKeptIsShownUnderTheNameOfTheNearest) {
    const auto shared = std::make_shared<test::FakeTraining>();
    Session session(open_preset("multi-head"), no_wake, test::empty_computation(), test::fake_engine(shared));
    LessonStep step;
    step.training.emplace();
    step.training->run = test::fake_settings(200);
    for (const std::int64_t moment : {0, 101, 200}) {
        step.training->moment = moment;
        play_step(session, step);
        const RunStatus& run = *session.training().status;
        ASSERT_LT(run.moments.size(), 100U) << "the history was to be thinned out";
        ASSERT_TRUE(session.document().trained);
        const std::int64_t shown = session.document().trained->step.value_or(-1);
        EXPECT_EQ(session.wait()->trained_step, shown);
        EXPECT_FALSE(differs(step, session.document(), session.training()));
        const std::string missing = missing_moment(step, run);
        EXPECT_EQ(shown == moment, moment != 101);
        EXPECT_EQ(missing, shown == moment ? "" : "Step 101 of the run was not kept: step " + std::to_string(shown) + " is shown.");
    }
}

TEST(LessonGoals, ARunOfThePersonsOwnStaysUntilTheyLetItGo) {
    Session session(open_preset("multi-head"), no_wake);
    train(session);
    ASSERT_GT(session.training().status->step, 0);
    const Document before = session.document();
    LessonGoal goal(find_lesson("watch-a-head-form")->steps[0]);
    EXPECT_TRUE(goal.next(session.document(), session.training()).empty());
    EXPECT_TRUE(goal.asks());
    EXPECT_FALSE(goal.done());
    // A lesson without training keeps the run, whose model is shown again afterwards.
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
