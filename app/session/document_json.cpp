#include "app/session/document_json.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <memory>
#include <utility>

#include "engine/io/atomic_file.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/utf8.hpp"
#include "engine/plan/config_json.hpp"
#include "engine/trace/settings_json.hpp"
#include "engine/train/run_json.hpp"

namespace attn::app {

namespace {

constexpr std::string_view kFormat = "attnscope-document/1";
constexpr std::array<std::string_view, 3> kTokenizers{"character", "word", "byte"};  // in the order of TokenizerKind

constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 20;

Json to_json(const TrainedModel& trained) {
    Json json{{"run", trained.run}};
    if (trained.step.has_value()) json["step"] = *trained.step;
    return json;
}

TrainedModel trained_from_json(JsonObject object) {
    TrainedModel trained;
    if (!object.read("run", trained.run)) object.fail_missing("run");
    std::int64_t step = 0;
    if (object.read("step", step, 0, kMostSteps)) trained.step = step;
    object.expect_no_more();
    return trained;
}

Json to_json(const SamplingSettings& sampling) {
    return {{"temperature", sampling.temperature},
            {"top_k", sampling.top_k},
            {"top_p", sampling.top_p},
            {"tokens", sampling.tokens},
            {"seed", sampling.seed}};
}

SamplingSettings sampling_from_json(JsonObject object) {
    SamplingSettings sampling;
    object.read("temperature", sampling.temperature, 0, std::numeric_limits<double>::max());
    object.read("top_k", sampling.top_k, 0, kMostTokens);
    object.read("top_p", sampling.top_p, 0, 1);
    object.read("tokens", sampling.tokens, 0, kMostTokens);
    object.read("seed", sampling.seed);
    object.expect_no_more();
    return sampling;
}

Json to_json(const MomentOfRun& moment) { return {{"run", moment.run}, {"step", moment.step}}; }

void add_setup(Json& json, const Setup& setup) {
    json["texts"] = setup.texts;
    json["source_texts"] = setup.source_texts;
    json["tokenizer"] = tokenizer_name(setup.tokenizer);
    json["special_tokens"] = setup.special_tokens;
    json["vocabulary_texts"] = setup.vocabulary_texts;
    json["vocabulary"] = setup.vocabulary;
    json["config"] = to_json(setup.config);
    json["forward"] = to_json(setup.forward);
    if (setup.model != nullptr) json["model"] = setup.model->path().string();
    if (setup.shipped != nullptr) json["model"] = setup.shipped->name;
}

void read_setup(JsonObject& object, Setup& setup) {
    if (!object.read("texts", setup.texts)) object.fail_missing("texts");
    if (setup.texts.empty()) object.fail("texts", "expected at least one text, found none");
    object.read("source_texts", setup.source_texts);
    read_model_fields(object, setup);
}

Json to_json(const State& state) {
    Json json;
    add_setup(json, *state.setup);
    if (const MomentOfRun* moment = moment_of(state)) json["trained"] = to_json(*moment);
    return json;
}

State state_from_json(JsonObject object) {
    Setup setup;
    read_setup(object, setup);
    object.read("vocabulary_texts", setup.vocabulary_texts);
    object.read("vocabulary", setup.vocabulary);
    Source source;
    if (object.has("trained")) {
        const TrainedModel trained = trained_from_json(object.object("trained"));
        source = MomentOfRun{trained.run, trained.step.value_or(0), nullptr};
    }
    object.expect_no_more();
    return {std::make_shared<const Setup>(std::move(setup)), std::move(source)};
}

Json to_json(const Pins& pins) {
    Json json = Json::object();
    if (pins.a) json["a"] = to_json(*pins.a);
    if (pins.b) json["b"] = to_json(*pins.b);
    return json;
}

Pins pins_from_json(JsonObject object) {
    Pins pins;
    if (object.has("a")) pins.a = state_from_json(object.object("a"));
    if (object.has("b")) pins.b = state_from_json(object.object("b"));
    object.expect_no_more();
    return pins;
}

/// The text of the training task stands in the document itself, which then is whole wherever it is taken.
void add_task_text(Json& json, const TaskSettings& task) {
    if (task.text == nullptr) return;
    if (task.text->size() > kMostTaskText)
        throw FileError(FileFault::Limit, task.text_name, "",
                        fmt::format("the text to train on has {} bytes; at most {} fit in a document", task.text->size(), kMostTaskText));
    if (find_invalid_utf8(*task.text))
        throw FileError(FileFault::Unsupported, task.text_name, "", "the text to train on is not UTF-8 and cannot be saved in a document");
    json["task_text"] = *task.text;
}

}  // namespace

void read_model_fields(JsonObject& object, Setup& setup) {
    std::size_t tokenizer = 0;
    if (object.read_choice("tokenizer", kTokenizers, tokenizer)) setup.tokenizer = static_cast<TokenizerKind>(tokenizer);
    object.read("special_tokens", setup.special_tokens);
    if (object.has("config")) setup.config = config_from_json(object.object("config"));
    // The model is opened again: a document holds none of its numbers. Folders are saved with their whole path, those of the program by
    // name.
    if (std::string model; object.read("model", model)) {
        if (auto shipped = shipped_model(model)) {
            use_shipped(setup, std::move(shipped));
        } else {
            setup.model = OpenedModel::open(model);
            setup.config = setup.model->config();
        }
    }
    if (object.has("forward")) setup.forward = forward_settings_from_json(object.object("forward"), setup.forward);
}

void read_document_fields(JsonObject& object, Document& document) {
    object.read("look_at", document.look_at);
    read_setup(object, document);
}

std::string document_to_json(const Document& document) {
    Json json;
    json["format"] = kFormat;
    json["preset"] = document.preset;
    json["look_at"] = document.look_at;
    add_setup(json, document);
    if (document.trained.has_value()) json["trained"] = to_json(*document.trained);
    if (document.pins != Pins{}) json["pinned"] = to_json(document.pins);
    json["sampling"] = to_json(document.sampling);
    json["run"] = to_json(document.run);
    add_task_text(json, document.run.task);
    return json.dump(2, Json::InvalidUtf8::Replace) + "\n";
}

Document document_from_json(std::string_view text, std::string_view source) {
    JsonObject object(text, source);
    std::string format;
    if (!object.read("format", format)) object.fail_missing("format");
    if (format != kFormat) object.fail("format", "expected \"" + std::string(kFormat) + "\", found \"" + escaped(format) + "\"");
    Document document;
    object.read("preset", document.preset);
    object.read("vocabulary_texts", document.vocabulary_texts);
    object.read("vocabulary", document.vocabulary);
    if (object.has("trained")) document.trained = trained_from_json(object.object("trained"));
    if (object.has("pinned")) document.pins = pins_from_json(object.object("pinned"));
    if (object.has("sampling")) document.sampling = sampling_from_json(object.object("sampling"));
    if (object.has("run")) document.run = run_settings_from_json(object.object("run"));
    std::string task_text;
    if (object.read("task_text", task_text)) document.run.task.text = std::make_shared<const std::string>(std::move(task_text));
    read_document_fields(object, document);
    object.expect_no_more();
    return document;
}

void save_document(const std::filesystem::path& path, const Document& document) { write_whole_file(path, document_to_json(document)); }

Document load_document(const std::filesystem::path& path) {
    return document_from_json(read_whole_file(path, {.max_bytes = kMaxJsonBytes, .stop = {}}), path.string());
}

}  // namespace attn::app
