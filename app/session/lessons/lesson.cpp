#include "app/session/lessons/lesson.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/session/document/embedded_names.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/document/recording_document.hpp"
#include "app/session/lessons/lesson_check.hpp"
#include "assets/embedded.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/json_fields.hpp"
#include "engine/plan/config_json.hpp"
#include "engine/trace/settings_json.hpp"
#include "engine/train/run_json.hpp"
#include "engine/train/schedule.hpp"

namespace attn::app {
namespace {

constexpr std::string_view kFolder = "lessons/";
constexpr std::size_t kMaxLessonSteps = 200;
constexpr std::int64_t kMaxTrainingSteps = 1'000'000;
constexpr std::size_t kLeastAnswers = 2, kMostAnswers = 4;

/// Fields for which it matters whether this step specified them.
constexpr std::array<std::string_view, 9> kPlaces = {"stage",        "layer",   "cell",     "source_texts", "gradients",
                                                     "totals_layer", "against", "replaced", "replaced_from"};
/// Lessons have no place for trained pieces.
constexpr std::span kLessonTokenizers = std::span(kTokenizerNames).first(static_cast<std::size_t>(TokenizerKind::Bpe));

void read_texts(JsonObject& object, std::string_view key, std::vector<std::string>& texts) {
    if (object.read(key, texts) && texts.empty()) object.fail(key, "expected at least one text");
}

/// A recording that the program carries, and which of its steps is shown.
void read_recording(JsonObject& object, LessonStep& step) {
    std::string name;
    std::int64_t shown = 0;
    const bool opens = object.read("recording", name), says_step = object.read("recorded_step", shown, 0, kMaxTrainingSteps);
    const std::optional<RecordedNumbers> before = step.training ? std::nullopt : step.document.recorded;
    if (says_step && !opens && !before) object.fail("recorded_step", "there is no recording to show a step of");
    if (!opens && !says_step) return;
    for (const char* field : {"preset", "training"})
        if (object.has(field)) object.fail(field, "a step shows either a model or a recording");
    try {
        step.document = document_of_recording(opens ? OpenedRecording::shipped(name) : before->recording, shown);
    } catch (const Error& error) {
        object.fail(opens ? "recording" : "recorded_step", error.what());
    }
    step.document.look.reset();
    step.training.reset();
}

/// Reads the fields that define what is computed; in a training step, those that change how the run's model is shown.
void read_document(JsonObject& object, LessonStep& step) {
    std::string preset;
    if (object.read("preset", preset)) {
        if (object.has("training")) object.fail("preset", "the training run of this step has its own model");
        try {
            step.document = open_preset(preset);
        } catch (const Error& error) {
            object.fail("preset", error.what());
        }
        step.document.look_at.clear();  // the captions replace it
        step.training.reset();
    }
    if (step.training) {
        for (const char* field : {"source_texts", "tokenizer", "special_tokens", "config"})
            if (object.has(field)) object.fail(field, "the model is that of the training run; a preset would end it");
        if (std::vector<std::string> texts; object.has("texts")) {
            read_texts(object, "texts", texts);
            step.training->texts = std::move(texts);
        }
        if (auto part = object.optional_object("forward"))
            step.training->forward =
                forward_settings_from_json(std::move(*part), step.training->forward.value_or(step.training->run.train.forward));
        return;
    }
    if (step.document.recorded)
        for (const char* field : {"texts", "source_texts", "tokenizer", "special_tokens", "config", "forward"})
            if (object.has(field)) object.fail(field, "a recording shows what was computed elsewhere");
    read_texts(object, "texts", step.document.texts);
    object.read("source_texts", step.document.source_texts);
    read_enum(object, "tokenizer", kLessonTokenizers, step.document.tokenizer);
    object.read("special_tokens", step.document.special_tokens);
    if (auto part = object.optional_object("config")) step.document.config = config_from_json(std::move(*part), step.document.config);
    if (auto part = object.optional_object("forward"))
        step.document.forward = forward_settings_from_json(std::move(*part), std::move(step.document.forward));
}

/// `until` replaces all stop conditions of the run; those it does not mention are off.
void read_until(JsonObject& object, StopAt& stop) {
    stop = {.steps = kMaxTrainingSteps};
    object.read("steps", stop.steps, 1, kMaxTrainingSteps);
    object.read("loss", stop.loss, 0, 1e6);
    object.read("accuracy", stop.accuracy, 0, 1);
    object.expect_no_more();
}

/// A run that ends after a number of steps must have a nonzero learning rate until then.
void expect_rates(const JsonObject& until, const RunSettings& run) {
    const bool by_steps = until.has("steps") && run.stop.loss == 0 && run.stop.accuracy == 0;
    const Schedule& schedule = run.train.schedule;
    if (by_steps && run.stop.steps > schedule.total_steps && learning_rate(schedule, run.stop.steps - 1) == 0)
        until.fail("steps", fmt::format("the schedule's learning rate is 0 after step {} (total_steps)", schedule.total_steps));
}

void read_training(JsonObject& object, LessonStep& step) {
    if (std::optional<JsonObject> training = object.optional_object("training")) {
        std::vector<std::string_view> names;
        for (const TaskInfo& info : tasks()) names.emplace_back(info.name);
        std::size_t task = 0;
        if (training->read_choice("task", names, task)) step.training = LessonTraining{default_run(tasks()[task].kind), {}, {}, {}};
        else if (!step.training) training->fail_missing("task");
        RunSettings& run = step.training->run;
        if (auto settings = training->optional_object("settings")) run = run_settings_from_json(std::move(*settings), run);
        std::optional<JsonObject> until = training->optional_object("until");
        if (until) read_until(*until, run.stop);
        training->expect_no_more();
        try {
            validate(run);
        } catch (const Error& error) {
            object.fail("training", error.what());
        }
        if (until) expect_rates(*until, run);
        step.training->moment.reset();
    }
    if (std::int64_t moment = 0; object.read("moment", moment, 0, kMaxTrainingSteps)) {
        if (!step.training) object.fail("moment", "there is no training run to show a step of");
        const std::int64_t last = step.training->run.stop.steps;
        if (last > 0 && moment > last) object.fail("moment", fmt::format("the run of this step ends after {} steps", last));
        step.training->moment = moment;
    }
}

void read_claims(JsonObject& object, LessonStep& step, int layer) {
    std::vector<std::string> claims;
    object.read("claims", claims);
    for (const std::string& claim : claims) {
        try {
            step.claims.push_back(parse_claim(claim, layer));
        } catch (const Error& error) {
            object.fail("claims", error.what());
        }
    }
}

LessonAnswer read_answer(JsonObject& object, int layer) {
    LessonAnswer answer;
    if (!object.read("text", answer.text) || answer.text.empty()) object.fail_missing("text");
    std::string when;
    if (!object.read("when", when)) object.fail_missing("when");
    try {
        answer.when = parse_claim(when, layer);
    } catch (const Error& error) {
        object.fail("when", error.what());
    }
    object.expect_no_more();
    return answer;
}

void read_question(JsonObject& object, LessonStep& step, int layer, bool first) {
    std::optional<JsonObject> ask = object.optional_object("ask");
    if (!ask) return;
    if (first) object.fail("ask", "a question is asked about the picture of the previous step, and the first step has none");
    LessonQuestion question;
    if (!ask->read("question", question.text) || question.text.empty()) ask->fail_missing("question");
    for (JsonObject& answer : ask->objects("answers")) {
        LessonAnswer next = read_answer(answer, layer);
        for (const LessonAnswer& other : question.answers)
            if (other.text == next.text) ask->fail("answers", fmt::format("\"{}\" is given twice", escaped(next.text)));
        question.answers.push_back(std::move(next));
    }
    if (question.answers.size() < kLeastAnswers || question.answers.size() > kMostAnswers)
        ask->fail("answers", fmt::format("expected {} to {} answers, found {}", kLeastAnswers, kMostAnswers, question.answers.size()));
    ask->expect_no_more();
    step.question = std::move(question);
}

/// In an encoder-decoder, stages without a stack refer to the decoder.
void name_stack(const LessonStep& step, StageId& id) {
    const bool two = !step.training && step.document.config.architecture == Architecture::EncoderDecoder;
    if (two && id.stack == Stack::Main) id.stack = Stack::Decoder;
}

void name_stacks(const LessonStep& step, Caption& caption) {
    for (CaptionPart& part : caption)
        if (part.quote && part.quote->parameter.empty()) name_stack(step, part.quote->stage);
}

void name_stacks(const LessonStep& step, Claim& claim) {
    name_stacks(step, claim.left);
    name_stacks(step, claim.right);
}

/// What the first step begins with, and every step that inherits nothing.
LessonStep plain_step() {
    LessonStep step;
    step.document = open_preset(kDefaultPreset);
    step.document.look_at.clear();
    return step;
}

LessonStep read_step(JsonObject& object, const LessonStep& before, bool first) {
    bool inherits = true;
    object.read("inherits", inherits);
    LessonStep step = inherits ? before : plain_step();
    step.title.clear();
    step.said.clear();
    step.claims.clear();
    step.question.reset();
    for (const std::string_view field : kPlaces)
        if (object.has(field)) step.said.emplace(field);
    // What was shown may have kept a key that was chosen at an earlier stage, as a step that says nothing of it does.
    if (!inherits) step.said.erase("cell");
    std::string caption;
    object.read("title", step.title);
    if (!object.read("caption", caption)) object.fail_missing("caption");
    read_training(object, step);
    read_recording(object, step);
    read_document(object, step);
    read_look(object, step.look);
    name_stack(step, step.look.stage);
    const int layer = std::max(step.look.stage.layer, 0);
    try {
        step.caption = parse_caption(caption, layer);
    } catch (const Error& error) {
        object.fail("caption", error.what());
    }
    read_claims(object, step, layer);
    read_question(object, step, layer, first);
    name_stacks(step, step.caption);
    for (Claim& claim : step.claims) name_stacks(step, claim);
    if (step.question)
        for (LessonAnswer& answer : step.question->answers) name_stacks(step, answer.when);
    object.expect_no_more();
    return step;
}

std::vector<std::shared_ptr<const Lesson>> parse_embedded() {
    std::vector<std::shared_ptr<const Lesson>> all;
    for (const EmbeddedFile& file : embedded_assets())
        if (file.name.starts_with(kFolder)) all.push_back(std::make_shared<const Lesson>(parse_lesson(file.bytes, file.name)));
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return std::pair(a->order, a->name) < std::pair(b->order, b->name); });
    return all;
}

}  // namespace

std::optional<std::size_t> right_answer(const LessonQuestion& question, const Snapshot& snapshot, const TrainingReport& training) {
    std::optional<std::size_t> right;
    for (std::size_t i = 0; i < question.answers.size(); ++i) {
        if (!holds(question.answers[i].when, snapshot, training).value_or(false)) continue;
        if (right) return std::nullopt;
        right = i;
    }
    return right;
}

Lesson parse_lesson(std::string_view json, std::string_view source) {
    JsonObject object(json, source);
    Lesson lesson;
    if (!object.read("name", lesson.name)) object.fail_missing("name");
    if (!object.read("title", lesson.title)) object.fail_missing("title");
    object.read("summary", lesson.summary);
    object.read("order", lesson.order, 0, 1000);
    LessonStep step = plain_step();
    std::vector<JsonObject> steps = object.objects("steps");
    if (!object.has("steps")) object.fail_missing("steps");
    if (steps.empty()) object.fail("steps", "a lesson has at least one step");
    if (steps.size() > kMaxLessonSteps) object.fail("steps", fmt::format("a lesson has at most {} steps", kMaxLessonSteps));
    for (JsonObject& one : steps) lesson.steps.push_back(step = read_step(one, step, lesson.steps.empty()));
    object.expect_no_more();
    return lesson;
}

std::vector<std::string> lesson_names() { return embedded_names(kFolder); }

std::span<const std::shared_ptr<const Lesson>> lessons() {
    static const std::vector<std::shared_ptr<const Lesson>> kAll = parse_embedded();
    return kAll;
}

std::shared_ptr<const Lesson> find_lesson(const std::string& name_or_file) {
    for (const auto& lesson : lessons())
        if (lesson->name == name_or_file) return lesson;
    std::error_code unknown;
    if (!std::filesystem::exists(name_or_file, unknown))
        throw Error(fmt::format("there is no lesson and no file \"{}\"; the lessons are {}", escaped(name_or_file),
                                fmt::join(lesson_names(), ", ")));
    return std::make_shared<const Lesson>(
        read_lesson(read_whole_file(name_or_file, {.max_bytes = kMaxJsonBytes, .stop = {}}), name_or_file));
}

}  // namespace attn::app
