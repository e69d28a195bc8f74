#include "app/session/document/document_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "engine/io/atomic_file.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/json_fields.hpp"
#include "engine/io/utf8.hpp"
#include "engine/plan/config_json.hpp"
#include "engine/tokenizer/byte_alphabet.hpp"
#include "engine/trace/settings_json.hpp"
#include "engine/train/run_json.hpp"

namespace attn::app {

namespace {

constexpr std::string_view kFormat = "attnscope-document/1";

constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 20;

Json to_json(const TrainedModel& trained) {
    Json json{{"run", trained.run}};
    if (trained.step.has_value()) json["step"] = *trained.step;
    return json;
}

/// `place`: of its run, which older documents have here.
TrainedModel trained_from_json(JsonObject object, std::string* place = nullptr) {
    TrainedModel trained;
    if (!object.read("run", trained.run)) object.fail_missing("run");
    std::int64_t step = 0;
    if (object.read("step", step, 0, kMostSteps)) trained.step = step;
    std::string checkpoint;
    object.read("checkpoint", checkpoint);
    if (place != nullptr) *place = std::move(checkpoint);
    object.expect_no_more();
    return trained;
}

Json to_json(const std::map<std::uint64_t, RunPlace>& run_places) {
    Json list = Json::list();
    for (const auto& [run, place] : run_places) list.push_back(Json{{"run", run}, {"path", place.path}, {"beside", place.beside}});
    return list;
}

std::map<std::uint64_t, RunPlace> run_places_from_json(JsonObject& document) {
    std::map<std::uint64_t, RunPlace> places;
    for (JsonObject& object : document.objects("runs")) {
        std::uint64_t run = 0;
        RunPlace place;
        if (!object.read("run", run)) object.fail_missing("run");
        object.read("path", place.path);
        object.read("beside", place.beside);
        object.expect_no_more();
        places[run] = std::move(place);
    }
    return places;
}

Json to_json(const SamplingSettings& sampling) {
    return {{"temperature", sampling.temperature}, {"top_k", sampling.top_k}, {"top_p", sampling.top_p}, {"min_p", sampling.min_p},
            {"tokens", sampling.tokens},           {"seed", sampling.seed}};
}

SamplingSettings sampling_from_json(JsonObject object) {
    SamplingSettings sampling;
    object.read("temperature", sampling.temperature, 0, std::numeric_limits<double>::max());
    object.read("top_k", sampling.top_k, 0, kMostTokens);
    object.read("top_p", sampling.top_p, 0, 1);
    object.read("min_p", sampling.min_p, 0, 1);
    object.read("tokens", sampling.tokens, 0, kMostTokens);
    object.read("seed", sampling.seed);
    object.expect_no_more();
    return sampling;
}

/// Stored as parallel arrays, one entry per token in each, because there may be thousands.
Json to_json(const Writing& writing) {
    Json ids = Json::list(), after = Json::list(), predicted = Json::list(), chance = Json::list();
    for (const WrittenToken& token : writing.tokens) {
        ids.push_back(token.id);
        after.push_back(token.after);
        predicted.push_back(token.predicted);
        chance.push_back(token.chance);
    }
    return {{"sequence", writing.sequence}, {"ids", std::move(ids)},  {"after", std::move(after)}, {"predicted", std::move(predicted)},
            {"chance", std::move(chance)},  {"shown", writing.shown}, {"end", writing.end}};
}

/// Reads a list of integers.
template <class Integer>
std::vector<Integer> integers_from_json(JsonObject& object, std::string_view key, double least) {
    std::vector<double> numbers;
    object.read(key, numbers, least, std::numeric_limits<std::int32_t>::max());
    std::vector<Integer> integers;
    for (const double number : numbers) {
        if (number != std::floor(number)) object.fail(key, "expected whole numbers");
        integers.push_back(static_cast<Integer>(number));
    }
    return integers;
}

Writing writing_from_json(JsonObject object) {
    Writing writing;
    object.read("sequence", writing.sequence, 0, kMostTokens);
    const auto ids = integers_from_json<std::int32_t>(object, "ids", 0);
    const auto after = integers_from_json<std::int64_t>(object, "after", kPrompt);
    std::vector<double> predicted, chance;
    object.read("predicted", predicted, 0, 1);
    object.read("chance", chance, 0, 1);
    if (after.size() != ids.size() || predicted.size() != ids.size() || chance.size() != ids.size())
        object.fail("ids", "expected as many numbers as in \"after\", \"predicted\" and \"chance\"");
    for (std::size_t i = 0; i < ids.size(); ++i) writing.tokens.push_back({ids[i], after[i], predicted[i], chance[i]});
    object.read("shown", writing.shown, kPrompt, kMostTokens);
    object.read("end", writing.end, kPrompt, kMostTokens);
    object.expect_no_more();
    try {
        require_writing(writing);
    } catch (const FileError&) {
        throw;
    } catch (const Error& error) {
        object.fail("ids", error.what());
    }
    return writing.tokens.empty() ? Writing() : writing;  // a sequence number without tokens means nothing
}

Json to_json(const Written& written) {
    Json ids = Json::list();
    for (const std::int32_t id : written.ids) ids.push_back(id);
    return {{"sequence", written.sequence}, {"ids", std::move(ids)}};
}

Written written_from_json(JsonObject object, std::size_t texts) {
    Written written;
    object.read("sequence", written.sequence, 0, static_cast<std::int64_t>(texts) - 1);
    written.ids = integers_from_json<std::int32_t>(object, "ids", 0);
    if (written.ids.size() > kMostWritten) object.fail("ids", fmt::format("expected at most {}", kMostWritten));
    object.expect_no_more();
    return written.ids.empty() ? Written() : written;
}

Json to_json(const MomentOfRun& moment) { return {{"run", moment.run}, {"step", moment.step}}; }

/// JSON cannot hold arbitrary bytes, so BPE pieces are written in byte-level letters.
std::vector<std::string> written_vocabulary(const Setup& setup) {
    std::vector<std::string> words = setup.vocabulary;
    if (setup.tokenizer == TokenizerKind::Bpe)
        for (std::string& word : words) word = letters_of_bytes(word);
    return words;
}

void read_vocabulary(JsonObject& object, Setup& setup) {
    std::vector<std::string> words;
    if (!object.read("vocabulary", words)) return;
    if (setup.tokenizer == TokenizerKind::Bpe)
        for (std::string& word : words) {
            std::optional<std::string> bytes = bytes_of_letters(word);
            if (!bytes) object.fail("vocabulary", fmt::format("\"{}\" is not in byte-level letters", escaped(word)));
            word = std::move(*bytes);
        }
    if (setup.shipped == nullptr) setup.vocabulary = std::move(words);
}

/// The path from the folder; empty unless it is below that.
std::filesystem::path path_below(const std::filesystem::path& folder, const std::filesystem::path& path) {
    const std::filesystem::path below = path.lexically_relative(folder);
    return below.empty() || *below.begin() == ".." ? std::filesystem::path() : below;
}

void add_model(Json& json, const ModelIdentity& model, const std::filesystem::path& folder) {
    json["model"] = model.path.string();
    if (const std::filesystem::path beside = path_below(folder, model.path); !beside.empty()) json["model_beside"] = beside.string();
    json["model_tensors"] = model.tensors;
}

void add_setup(Json& json, const Setup& setup, const std::filesystem::path& folder) {
    json["texts"] = setup.texts;
    if (!setup.written.ids.empty()) json["written"] = to_json(setup.written);
    json["source_texts"] = setup.source_texts;
    json["tokenizer"] = tokenizer_name(setup.tokenizer);
    json["special_tokens"] = setup.special_tokens;
    json["vocabulary_texts"] = setup.vocabulary_texts;
    json["vocabulary"] = written_vocabulary(setup);
    json["config"] = to_json(setup.config);
    json["forward"] = to_json(setup.forward);
    if (setup.model != nullptr) add_model(json, *setup.model.identity(), folder);
    if (setup.shipped != nullptr) json["model"] = setup.shipped->name;
}

void read_setup(JsonObject& object, Setup& setup, const ModelPlaces& places) {
    if (!object.read("texts", setup.texts)) object.fail_missing("texts");
    if (setup.texts.empty()) object.fail("texts", "expected at least one text, found none");
    if (object.has("written")) setup.written = written_from_json(object.object("written"), setup.texts.size());
    object.read("source_texts", setup.source_texts);
    read_model_fields(object, setup, places);
}

/// The path in a field; empty if there is none.
std::filesystem::path path_from_json(JsonObject& object, std::string_view key) {
    std::string path;
    if (object.read(key, path) && (path.empty() || path.find('\0') != std::string::npos))
        object.fail(key, "is not the path of a model", FileFault::Schema);
    return path;
}

Json to_json(const RecordedNumbers& recorded, const std::filesystem::path& folder) {
    Json json{{"step", recorded.step}, {"group", recorded.group}};
    if (recorded.recording->is_shipped()) {
        json["shipped"] = recorded.recording->name();
        return json;
    }
    if (const auto rank = recorded.recording->asked_rank()) json["rank"] = *rank;
    const std::filesystem::path path = std::filesystem::absolute(recorded.recording->path()).lexically_normal();
    json["path"] = path.string();
    if (const std::filesystem::path beside = path_below(folder, path); !beside.empty()) json["beside"] = beside.string();
    return json;
}

/// The recording where it was, or in the same place beside the document.
RecordedNumbers recorded_from_json(JsonObject object, const ModelPlaces& places) {
    constexpr double kMostGroups = 100'000;
    RecordedNumbers recorded;
    const std::filesystem::path path = path_from_json(object, "path"), beside = path_from_json(object, "beside");
    std::int64_t group = 0, rank = 0;
    const bool has_rank = object.value("rank") != nullptr;
    std::string shipped;
    object.read("shipped", shipped);
    object.read("step", recorded.step, 0, static_cast<double>(std::numeric_limits<std::int32_t>::max()));
    object.read("group", group, 0, kMostGroups);
    object.read("rank", rank, 0, static_cast<double>(std::numeric_limits<std::int32_t>::max()));
    object.expect_no_more();
    recorded.group = static_cast<std::size_t>(group);
    const std::filesystem::path near = places.document_folder / beside;
    const bool moved = !OpenedRecording::is_in(path) && !places.document_folder.empty() && !beside.empty() && OpenedRecording::is_in(near);
    try {
        recorded.recording = shipped.empty() ? OpenedRecording::open(moved ? near : path, has_rank ? std::optional(rank) : std::nullopt)
                                             : OpenedRecording::shipped(shipped);
        (void)OpenedStep(recorded);  // throws if it lacks that step
    } catch (const Error& error) {
        object.fail("path", fmt::format("the recording of this document cannot be opened: {}", error.what()));
    }
    return recorded;
}

Json to_json(const State& state, const std::filesystem::path& folder) {
    Json json;
    add_setup(json, *state.setup, folder);
    if (const RecordedNumbers* recorded = recorded_in(state)) json["recorded"] = to_json(*recorded, folder);
    if (const MomentOfRun* moment = moment_of(state)) json["trained"] = to_json(*moment);
    return json;
}

State state_from_json(JsonObject object, const ModelPlaces& places) {
    Setup setup;
    read_setup(object, setup, places);
    object.read("vocabulary_texts", setup.vocabulary_texts);
    read_vocabulary(object, setup);
    Source source;
    if (object.has("trained")) {
        const TrainedModel trained = trained_from_json(object.object("trained"));
        source = MomentOfRun{trained.run, trained.step.value_or(0), nullptr};
    }
    if (object.has("recorded")) source = recorded_from_json(object.object("recorded"), places);
    object.expect_no_more();
    return {std::make_shared<const Setup>(std::move(setup)), std::move(source)};
}

Json to_json(const Pins& pins, const std::filesystem::path& folder) {
    Json json = Json::object();
    if (pins.a) json["a"] = to_json(*pins.a, folder);
    if (pins.b) json["b"] = to_json(*pins.b, folder);
    if (pins.a_reads_along) json["a_reads_along"] = true;
    return json;
}

[[noreturn]] void refuse_model(const JsonObject& object, const std::filesystem::path& model, const FoundModel& found) {
    const FileError& cause = *found.cause;
    try {
        object.fail("model",
                    fmt::format("the model of this document cannot be opened ({}){}: put it back, or write its new path here", cause.what(),
                                found.searched),
                    cause.fault());
    } catch (const FileError& refusal) {
        throw ModelIsMissing(refusal, model, cause.what() + found.searched);
    }
}

/// Says where a model is that is not where it was.
void tell_if_moved(const ModelReference& reference, const FoundModel& found, const ModelPlaces& places) {
    if (places.moved == nullptr || !found.cause) return;
    std::string sentence = fmt::format("The model at {} cannot be opened, so the one at {} is used instead.",
                                       escaped(reference.path.native(), 0), escaped(found.model->path().native(), 0));
    if (std::find(places.moved->begin(), places.moved->end(), sentence) == places.moved->end())
        places.moved->push_back(std::move(sentence));
}

Look look_from_json(JsonObject object) {
    Look look;
    read_look(object, look);
    object.expect_no_more();
    return look;
}

std::optional<State> pin_from_json(JsonObject& pins, std::string_view key, char name, std::vector<std::string>* left_out,
                                   const ModelPlaces& places) {
    if (!pins.has(key)) return {};
    try {
        return state_from_json(pins.object(key), places);
    } catch (const ModelIsMissing& missing) {
        if (left_out == nullptr) throw;
        left_out->push_back(fmt::format("Pinned {} is left out, because its model cannot be opened: {}.", name, missing.cause()));
        return {};
    }
}

Pins pins_from_json(JsonObject object, std::vector<std::string>* left_out, const ModelPlaces& places) {
    Pins pins;
    pins.a = pin_from_json(object, "a", 'A', left_out, places);
    pins.b = pin_from_json(object, "b", 'B', left_out, places);
    object.read("a_reads_along", pins.a_reads_along);
    if (!pins.a) pins.a_reads_along = false;
    object.expect_no_more();
    return pins;
}

/// The training text is stored in the document itself, so that the file is self-contained.
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

void read_model_fields(JsonObject& object, Setup& setup, const ModelPlaces& places) {
    read_enum(object, "tokenizer", kTokenizerNames, setup.tokenizer);
    object.read("special_tokens", setup.special_tokens);
    ModelReference reference;
    if (object.has("config")) reference.config = setup.config = config_from_json(object.object("config"));
    // Only a reference to the model is stored: the full path of a folder, or the name of an embedded model.
    reference.path = path_from_json(object, "model");
    reference.beside = path_from_json(object, "model_beside");
    object.read("model_tensors", reference.tensors);
    if (auto shipped = shipped_model(reference.path.native())) {
        use_shipped(setup, std::move(shipped));
    } else if (!reference.path.empty()) {
        const FoundModel found = find_model(reference, places);
        if (found.model == nullptr) refuse_model(object, reference.path, found);
        tell_if_moved(reference, found, places);
        setup.model = found.model;
        setup.config = setup.model->config();
    }
    if (object.has("forward")) setup.forward = forward_settings_from_json(object.object("forward"), setup.forward);
}

void read_document_fields(JsonObject& object, Document& document, const ModelPlaces& places) {
    object.read("look_at", document.look_at);
    read_setup(object, document, places);
}

std::string document_to_json(const Document& document, const std::filesystem::path& folder) {
    Json json;
    json["format"] = kFormat;
    json["preset"] = document.preset;
    json["look_at"] = document.look_at;
    add_setup(json, document, folder);
    if (document.trained.has_value()) json["trained"] = to_json(*document.trained);
    if (document.recorded) json["recorded"] = to_json(*document.recorded, folder);
    if (!document.run_places.empty()) json["runs"] = to_json(document.run_places);
    if (document.pins != Pins{}) json["pinned"] = to_json(document.pins, folder);
    if (document.look) json["look"] = to_json(*document.look);
    json["sampling"] = to_json(document.sampling);
    if (!document.writing.tokens.empty()) json["writing"] = to_json(document.writing);
    json["run"] = to_json(document.run);
    add_task_text(json, document.run.task);
    return json.dump(2, Json::InvalidUtf8::Replace) + "\n";
}

Document document_from_json(std::string_view text, std::string_view source, std::vector<std::string>* left_out, const ModelPlaces& places) {
    JsonObject object(text, source);
    std::string format;
    if (!object.read("format", format)) object.fail_missing("format");
    if (format != kFormat) object.fail("format", "expected \"" + std::string(kFormat) + "\", found \"" + escaped(format) + "\"");
    Document document;
    object.read("preset", document.preset);
    object.read("vocabulary_texts", document.vocabulary_texts);
    document.run_places = run_places_from_json(object);
    if (object.has("trained")) {
        std::string place;
        document.trained = trained_from_json(object.object("trained"), &place);
        if (!place.empty()) document.run_places.emplace(document.trained->run, RunPlace{"", std::move(place)});
    }
    if (object.has("recorded")) {
        document.recorded = recorded_from_json(object.object("recorded"), places);
        document.recorded_files = document.recorded->recording->recording().files;
    }
    if (object.has("pinned")) document.pins = pins_from_json(object.object("pinned"), left_out, places);
    if (object.has("look")) document.look = look_from_json(object.object("look"));
    if (object.has("sampling")) document.sampling = sampling_from_json(object.object("sampling"));
    if (object.has("run")) document.run = run_settings_from_json(object.object("run"));
    std::string task_text;
    if (object.read("task_text", task_text)) document.run.task.text = std::make_shared<const std::string>(std::move(task_text));
    if (object.has("writing")) document.writing = writing_from_json(object.object("writing"));
    read_document_fields(object, document, places);
    if (const std::size_t texts = document.texts.size(); document.writing.sequence >= static_cast<std::int64_t>(texts))
        object.fail("writing", fmt::format("continues text {}, but there are only {}", document.writing.sequence + 1, texts));
    const Written shown{document.writing.sequence, ids_to(document.writing, document.writing.shown)};
    if (document.written != shown && !(shown.ids.empty() && document.written.ids.empty()))
        object.fail("written", "expected the tokens up to the one that \"writing\" says is shown");
    read_vocabulary(object, document);  // only now is the kind of tokenizer known
    object.expect_no_more();
    return document;
}

void save_document(const std::filesystem::path& path, const Document& document) {
    write_whole_file(path, document_to_json(document, std::filesystem::absolute(path).lexically_normal().parent_path()));
}

Document load_document(const std::filesystem::path& path, std::vector<std::string>* left_out, ModelPlaces places) {
    places.document_folder = std::filesystem::absolute(path).lexically_normal().parent_path();
    return document_from_json(read_whole_file(path, {.max_bytes = kMaxJsonBytes, .stop = {}}), path.string(), left_out, places);
}

}  // namespace attn::app
