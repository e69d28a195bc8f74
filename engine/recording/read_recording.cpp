/// Reads what recording.json says, and finds the files of the steps.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "engine/io/file_error.hpp"
#include "engine/io/folder.hpp"
#include "engine/io/json_object.hpp"
#include "engine/io/text_file.hpp"
#include "engine/recording/graph_check.hpp"
#include "engine/recording/graph_of_names.hpp"
#include "engine/recording/joined_ranks.hpp"
#include "engine/recording/recorded_step.hpp"
#include "engine/recording/recording.hpp"

namespace attn::recording {
namespace {

constexpr std::string_view kFormat = "attnscope-recording/1";
constexpr std::int64_t kMostCount = std::int64_t{1} << 40;
constexpr std::array<std::string_view, 3> kHave{"recorded", "follows", "no"};

/// JSON has no infinity: it is written as text.
double number_in(JsonObject& object, std::string_view key, double otherwise) {
    const Json* value = object.value(key);
    if (value == nullptr) return otherwise;
    if (value->is_number()) return value->number();
    const double infinite = std::numeric_limits<double>::infinity();
    if (value->is_string() && value->text() == "inf") return infinite;
    if (value->is_string() && value->text() == "-inf") return -infinite;
    object.fail(key, "is not a number", FileFault::Format);
}

char letter_in(JsonObject& object, std::string_view key) {
    std::string letter = "S";
    object.read(key, letter);
    return letter.size() == 1 ? letter[0] : '?';
}

std::vector<Unfollowed> unfollowed_in(JsonObject& object) {
    std::vector<Unfollowed> all;
    for (JsonObject& entry : object.objects("unfollowed")) {
        Unfollowed one;
        entry.read("what", one.what);
        entry.read("line", one.line);
        entry.read("do", one.todo);
        all.push_back(std::move(one));
    }
    return all;
}

std::vector<Fact> facts_in(JsonObject& object) {
    std::vector<Fact> all;
    for (JsonObject& entry : object.objects("facts")) {
        Fact one;
        entry.read("what", one.what);
        entry.read("line", one.line);
        entry.read("name", one.name);
        entry.read("class", one.class_name);
        entry.read("are", one.are);
        all.push_back(std::move(one));
    }
    return all;
}

void read_operation(JsonObject& entry, RecordedStage& stage) {
    entry.read("parameters", stage.parameters);
    entry.read("called", stage.called);
    entry.read("with", stage.mask);
    entry.read("how", stage.how);
    std::string means = "hidden";
    entry.read("true_means", means);
    stage.true_is_hidden = means == "hidden";
    entry.read("causal", stage.causal);
    stage.fill = number_in(entry, "fill", -std::numeric_limits<double>::infinity());
    stage.by = number_in(entry, "by", std::numeric_limits<double>::quiet_NaN());
    stage.rate = number_in(entry, "rate", std::numeric_limits<double>::quiet_NaN());
    stage.over = letter_in(entry, "over");
    std::string on;
    entry.read("on", on);
    stage.on_operands = on == "operands";
    entry.read("extra", stage.extra, 0, kMostCount);
    entry.read("kernel", stage.kernel);
    entry.read("padded", stage.padded);
    entry.read("empty_is_zero", stage.empty_is_zero);
    stage.eps = number_in(entry, "eps", std::numeric_limits<double>::quiet_NaN());
}

/// The letters of the last axis, as the code has them.
std::string channels_in(JsonObject& entry) {
    std::string letters;
    const Json* layout = entry.value("layout");
    if (layout == nullptr || !layout->is_list() || layout->empty() || !layout->items().back().is_list()) return letters;
    for (const Json& letter : layout->items().back().items())
        if (letter.is_string()) letters += letter.text();
    return letters;
}

RecordedStage stage_in(JsonObject& entry) {
    RecordedStage stage;
    if (!entry.read("name", stage.name)) entry.fail_missing("name");
    stage.op = "given";
    entry.read("op", stage.op);
    entry.read("inputs", stage.inputs);
    entry.read("axes", stage.axes);
    entry.read("line", stage.line);
    std::size_t have = 0;
    if (entry.read_choice("have", kHave, have)) stage.have = static_cast<Have>(have);
    entry.read("reason", stage.reason);
    stage.channels = channels_in(entry);
    read_operation(entry, stage);
    return stage;
}

std::map<char, std::int64_t> sizes_in(JsonObject& object) {
    std::map<char, std::int64_t> sizes;
    std::optional<JsonObject> axes = object.optional_object("axes");
    if (!axes) return sizes;
    for (const Json::Member& member : axes->whole().members()) {
        std::int64_t size = 0;
        axes->read(member.first, size, 0, kMostCount);
        if (member.first.size() != 1) axes->fail(member.first, "is not a letter of an axis", FileFault::Schema);
        sizes[member.first[0]] = size;
    }
    return sizes;
}

RecordedAttention attention_in(JsonObject& entry) {
    RecordedAttention attention;
    if (!entry.read("name", attention.name)) entry.fail_missing("name");
    entry.read("class", attention.class_name);
    entry.read("source", attention.source);
    if (bool training = false; entry.read("training", training)) attention.training = training;
    entry.read("library", attention.of_library);
    entry.read("call", attention.call, 1, kMostCount);
    entry.read("calls", attention.calls, 1, kMostCount);
    std::string kind = "self", heads = "known";
    entry.read("kind", kind);
    entry.read("heads", heads);
    attention.cross = kind == "cross";
    attention.heads_known = heads == "known";
    entry.read("repeat", attention.repeat, 1, kMostCount);
    attention.sizes = sizes_in(entry);
    if (const double scale = number_in(entry, "scale", std::nan("")); !std::isnan(scale)) attention.scale = scale;
    for (JsonObject& stage : entry.objects("stages")) attention.stages.push_back(stage_in(stage));
    attention.facts = facts_in(entry);
    attention.unfollowed = unfollowed_in(entry);
    return attention;
}

RecordedGraph graph_in(JsonObject& entry) {
    RecordedGraph graph;
    for (JsonObject& attention : entry.objects("attentions")) graph.attentions.push_back(attention_in(attention));
    for (JsonObject& stage : entry.objects("around")) graph.around.push_back(stage_in(stage));
    graph.facts = facts_in(entry);
    return graph;
}

std::vector<std::vector<std::string>> rows_in(JsonObject& object, std::string_view key) {
    std::vector<std::vector<std::string>> rows;
    const Json* value = object.value(key);
    if (value == nullptr) return rows;
    if (!value->is_list()) object.fail(key, "is not a list of rows of words", FileFault::Format);
    for (const Json& row : value->items()) {
        std::vector<std::string>& words = rows.emplace_back();
        if (!row.is_list()) object.fail(key, "is not a list of rows of words", FileFault::Format);
        for (const Json& word : row.items()) {
            if (!word.is_string()) object.fail(key, "is not a list of rows of words", FileFault::Format);
            words.push_back(word.text());
        }
    }
    return rows;
}

std::string error_in(JsonObject& object) {
    std::optional<JsonObject> error = object.optional_object("error");
    if (!error) return "";
    std::string type, text, line;
    error->read("type", type);
    error->read("text", text);
    error->read("line", line);
    return type + (text.empty() ? "" : ": " + text) + (line.empty() ? "" : " (" + line + ")");
}

Recording described_by(std::string_view json, const std::string& name) {
    Json whole = Json::parse(json, name);
    whole.drop_null_members();
    JsonObject object = JsonObject::of(std::move(whole), name);
    std::string format;
    if (!object.read("format", format)) object.fail_missing("format");
    if (format != kFormat)
        object.fail("format", "is \"" + escaped(format) + "\"; this program reads " + std::string(kFormat), FileFault::Schema);
    Recording recording;
    object.read("run", recording.run, 0, kMostCount);
    recording.error = error_in(object);
    recording.tokens = rows_in(object, "tokens");
    recording.source_tokens = rows_in(object, "source_tokens");
    for (JsonObject& graph : object.objects("graphs")) {
        recording.graphs.push_back(graph_in(graph));
        expect_sound(recording.graphs.back(), name);
        recording.has_graph = true;
    }
    recording.unfollowed = unfollowed_in(object);
    return recording;
}

/// Takes a number with `digits` before it off the front of a name; nothing if it is none.
std::optional<std::int64_t> take_number(std::string_view& name, std::string_view before) {
    if (!name.starts_with(before)) return {};
    name.remove_prefix(before.size());
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || number < 0) return {};
    name.remove_prefix(static_cast<std::size_t>(end - name.data()));
    return number;
}

/// "run1-step00000050-rank0.safetensors"
std::optional<std::pair<std::int64_t, StepFile>> step_of(std::string_view name) {
    const auto run = take_number(name, "run");
    const auto step = run ? take_number(name, "-step") : std::nullopt;
    const auto rank = step ? take_number(name, "-rank") : std::nullopt;
    if (!rank || name != ".safetensors") return {};
    return std::pair{*run, StepFile{*step, *rank, {}}};
}

std::vector<std::pair<std::int64_t, StepFile>> steps_in(const std::filesystem::path& folder) {
    std::error_code failed;
    const std::vector<std::string> names = names_in_folder(folder, failed);
    if (failed) throw FileError(FileFault::Io, folder.string(), "", "cannot be listed: " + failed.message());
    std::vector<std::pair<std::int64_t, StepFile>> found;
    for (const std::string& name : names)
        if (auto step = step_of(name)) {
            step->second.path = folder / name;
            found.push_back(std::move(*step));
        }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return std::tuple(a.first, a.second.step, a.second.rank) < std::tuple(b.first, b.second.step, b.second.rank);
    });
    return found;
}

Recording read_rank(const std::filesystem::path& folder, std::int64_t rank, const std::vector<std::pair<std::int64_t, StepFile>>& steps) {
    const std::filesystem::path description = description_of(folder, rank);
    Recording recording;
    if (has_entry(description))
        recording = described_by(read_whole_file(description, {.max_bytes = kMaxJsonBytes, .stop = {}}), description.string());
    else if (steps.empty())
        throw FileError(FileFault::Schema, folder.string(), "", "holds no recording: neither recording.json nor a step");
    else recording.run = steps.back().first;
    std::set<std::int64_t> ranks;
    recording.files = 0;
    for (const auto& [run, step] : steps) {
        if (run != recording.run) continue;
        ++recording.files;
        ranks.insert(step.rank);
        if (step.rank == rank) recording.steps.push_back(step);
    }
    recording.rank = rank;
    if (!ranks.empty()) recording.ranks.assign(ranks.begin(), ranks.end());
    return recording;
}

/// What all processes of the job recorded of the same run; empty if one of them has described nothing yet.
std::vector<Recording> read_all_ranks(const std::filesystem::path& folder, Recording first,
                                      const std::vector<std::pair<std::int64_t, StepFile>>& steps) {
    std::vector<Recording> all;
    for (const std::int64_t rank : first.ranks) {
        all.push_back(rank == first.rank ? first : read_rank(folder, rank, steps));
        if (!all.back().has_graph || all.back().run != first.run) return {};
    }
    return all;
}

/// Without a rank: that of all if their parts can be joined, else the first one's.
Recording read_folder(const std::filesystem::path& folder, std::optional<std::int64_t> rank, const Recording* before) {
    const auto steps = steps_in(folder);
    Recording recording = read_rank(folder, rank.value_or(0), steps);
    if (recording.ranks.size() < 2) return recording;
    std::optional<Recording> joined;
    try {
        const std::vector<Recording> all = read_all_ranks(folder, recording, steps);
        if (!all.empty()) joined = join_ranks(all, before);
    } catch (const FileError&) {
        // What another process wrote cannot be read, and this one's can.
    }
    recording.can_join = joined.has_value();
    if (!joined || rank) return recording;
    joined->can_join = true;
    return *std::move(joined);
}

/// The words that attnscope.py keeps in a single file.
void take_words(Recording& recording) {
    const RecordedStep step(recording.steps.back());
    for (const auto& [key, rows] : {std::pair("tokens", &recording.tokens), std::pair("source_tokens", &recording.source_tokens)}) {
        const std::string* text = step.metadata(key);
        if (text == nullptr || !rows->empty()) continue;
        JsonObject object("{\"" + std::string(key) + "\":" + *text + "}", step.source());
        *rows = rows_in(object, key);
    }
}

}  // namespace

std::filesystem::path description_of(const std::filesystem::path& folder, std::int64_t rank) {
    return folder / (rank == 0 ? "recording.json" : fmt::format("recording-rank{}.json", rank));
}

std::size_t count_steps(const std::filesystem::path& folder, std::int64_t run) {
    const auto steps = steps_in(folder);
    return static_cast<std::size_t>(std::count_if(steps.begin(), steps.end(), [run](const auto& step) { return step.first == run; }));
}

Recording read_recording(const std::filesystem::path& path, std::optional<std::int64_t> rank, const Recording* before) {
    std::error_code ignored;
    Recording recording;
    if (std::filesystem::is_directory(path, ignored)) recording = read_folder(path, rank, before);
    else recording.steps.push_back({0, 0, path});
    recording.path = path;
    if (!recording.has_graph && !recording.steps.empty()) {
        recording.graphs = {graph_of_names(recording.steps.back())};
        take_words(recording);
    }
    return recording;
}

Recording read_recording(std::string_view description, std::vector<StepFile> steps, const std::filesystem::path& name) {
    Recording recording = described_by(description, (name / "recording.json").string());
    recording.files = steps.size();
    recording.steps = std::move(steps);
    recording.path = name;
    return recording;
}

}  // namespace attn::recording
