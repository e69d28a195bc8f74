#include "app/session/lessons/lesson_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "app/session/document/presets.hpp"
#include "app/session/lessons/lesson_check.hpp"
#include "engine/io/atomic_file.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/input_file.hpp"
#include "engine/plan/config_json.hpp"
#include "engine/trace/settings_json.hpp"
#include "engine/train/run_json.hpp"

namespace attn::app {
namespace {

/// Panes by the names that read_look() knows.
Json panes_of(const Look& look) {
    Json panes = Json::list();
    for (const auto& [open, name] : {std::pair{look.settings, "settings"}, {look.inspector, "cell"}, {look.stages, "stages"}})
        if (open) panes.push_back(name);
    return panes;
}

/// What a lesson has no place for; "" if there is nothing.
std::string why_no_step(const Document& document, const Look& look, const RunStatus& run) {
    if (document.model != nullptr) return "A lesson shows examples and training runs, not a model opened from a file.";
    if (look.view == View::Precision || look.view == View::Doctor)
        return "What this view shows is in a file, which is no part of a lesson.";
    if (!document.written.ids.empty()) return "A lesson has no place for written words: make them part of the text.";
    if (look.compare == Compare::Pinned || look.compare == Compare::PinnedB || look.compare == Compare::Moment)
        return "A lesson has no place for what is compared here.";
    if (!document.trained) return "";
    if (document.trained->run != run.run) return "A lesson can show the current training run, but not an earlier one.";
    if (run.settings.task.text != nullptr) return "A lesson has no place for the text that this run learns.";
    if (run.step < 1) return "This run has not made a step yet.";
    return "";
}

/// The run up to where it is, which the lesson trains again.
void add_run(Json& step, const Document& document, const RunStatus& run) {
    step["training"] =
        Json{{"task", task_info(run.settings.task.kind).name}, {"settings", to_json(run.settings)}, {"until", Json{{"steps", run.step}}}};
    step["moment"] = document.trained->step.value_or(run.step);
    step["texts"] = document.texts;
    step["forward"] = to_json(document.forward);
}

/// The example with what was changed of it.
void add_example(Json& step, const Document& document) {
    const std::string& name = document.preset.empty() ? std::string(kDefaultPreset) : document.preset;
    const Document& preset = find_preset(name).document;
    step["preset"] = name;
    if (document.texts != preset.texts) step["texts"] = document.texts;
    if (document.source_texts != preset.source_texts) step["source_texts"] = document.source_texts;
    if (document.tokenizer != preset.tokenizer) step["tokenizer"] = tokenizer_name(document.tokenizer);
    if (document.special_tokens != preset.special_tokens) step["special_tokens"] = document.special_tokens;
    if (document.config != preset.config) step["config"] = to_json(document.config);
    if (document.forward != preset.forward) step["forward"] = to_json(document.forward);
}

Json lesson_of(std::string_view name, std::string_view title) { return Json{{"name", name}, {"title", title}, {"steps", Json::list()}}; }

/// How to compare means nothing while nothing is compared.
Look without_unused_comparison(Look look) {
    if (look.compare != Compare::Off) return look;
    look.compare_as = Look{}.compare_as;
    look.compare_layer = look.compare_head = look.compare_sequence = std::nullopt;
    return look;
}

/// A step that does not show the same again must not be made.
void expect_same(const Json& step, const Document& document, const Look& look) {
    Json whole = lesson_of("new", "New");
    whole["steps"].push_back(step);
    const LessonStep read = parse_lesson(whole.dump(), "the new step").steps.front();
    const bool same_setup = read.training ? read.training->texts == document.texts && read.training->forward == document.forward
                                          : static_cast<const Setup&>(read.document) == static_cast<const Setup&>(document);
    if (!same_setup) throw Error("A lesson has no place for something in these settings: start from one of the examples.");
    if (read.look != look) throw Error("A lesson has no place for something in this view.");
}

/// "my-lesson" -> "My lesson"
std::string title_from(std::string name) {
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '-' || c == '_'; }, ' ');
    if (!name.empty()) name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
    return name;
}

Json lesson_in(const std::filesystem::path& file) {
    std::error_code unknown;
    if (!std::filesystem::exists(file, unknown)) {
        const std::string name = file.stem().string();
        return lesson_of(name, title_from(name));
    }
    const std::string text = read_whole_file(file, {.max_bytes = kMaxJsonBytes, .stop = {}});
    read_lesson(text, file.string());
    return Json::parse(text, file.string());
}

}  // namespace

Json lesson_step(const Document& document, const Look& shown, const RunStatus& run, const StepWords& words) {
    if (const std::string why = why_no_step(document, shown, run); !why.empty()) throw Error(why);
    const Look look = without_unused_comparison(shown);
    parse_caption(words.caption, std::max(look.stage.layer, 0));
    Json step{{"title", words.title}, {"caption", words.caption}, {"inherits", false}};
    if (document.trained) add_run(step, document, run);
    else add_example(step, document);
    const Json place = to_json(look);
    for (const Json::Member& field : place.members()) step[field.first] = field.second;
    step["panes"] = panes_of(look);
    expect_same(step, document, look);
    return step;
}

std::shared_ptr<const Lesson> append_lesson_step(const std::filesystem::path& file, Json step) {
    Json whole = lesson_in(file);
    whole["steps"].push_back(std::move(step));
    const std::string text = whole.dump(2) + "\n";
    auto lesson = std::make_shared<const Lesson>(read_lesson(text, file.string()));
    write_whole_file(file, text);
    return lesson;
}

}  // namespace attn::app
