/// attnscope recording: lists what a recording holds, checks its arithmetic and names mistakes in the code.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/commands.hpp"
#include "app/cli/standard_output.hpp"
#include "app/cli/terminal_text.hpp"
#include "engine/families/write_model.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/json.hpp"
#include "engine/recording/code_findings.hpp"
#include "engine/recording/follow.hpp"
#include "engine/recording/model_of_recording.hpp"
#include "engine/recording/recorded_step.hpp"
#include "engine/recording/recording.hpp"
#include "engine/tokenizer/known_words.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"

namespace attn::app {
namespace {

using recording::CodeFinding;
using recording::Gravity;
using recording::Outcome;
using recording::StageCheck;

struct RecordingOptions {
    std::filesystem::path path;
    std::optional<std::int64_t> step;
    std::optional<std::int64_t> rank;
    std::filesystem::path model;  ///< folder to write the recorded code to, as a model
    std::filesystem::path words;  ///< the texts of its ids
    bool json = false;
};

/// An attention with what was found in it.
struct Examined {
    const recording::RecordedAttention* attention = nullptr;
    std::vector<StageCheck> checks;
    std::vector<CodeFinding> findings;
};

/// "correct" is said only of an attention of which every stage from the scores to the context follows.
/// From the scores to the context every recorded stage follows from those before it; if a kernel kept the context, what it left does.
bool is_confirmed(const Examined& examined) {
    const std::vector<recording::RecordedStage>& stages = examined.attention->stages;
    bool scores = false, context = false;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const bool follows = examined.checks[i].outcome == Outcome::Follows, recorded = stages[i].have == recording::Have::Recorded;
        scores = scores || stages[i].name == "scores";
        context = context || stages[i].name == "context";
        if (!scores || !recorded) continue;
        if (context || !follows) return follows;
    }
    return context && std::any_of(examined.checks.begin() + std::ssize(stages), examined.checks.end(),
                                  [](const StageCheck& check) { return check.outcome == Outcome::Follows; });
}

std::string_view verdict_of(const Examined& examined) {
    for (const CodeFinding& finding : examined.findings)
        if (finding.gravity != Gravity::WorthKnowing) return gravity_name(finding.gravity);
    return is_confirmed(examined) ? "correct" : "unknown";
}

std::string shape_of(const recording::RecordedStep& step, const recording::RecordedAttention& attention,
                     const recording::RecordedStage& stage) {
    const NamedArray* tensor = step.find(full_name(attention, stage));
    return tensor == nullptr ? "" : shape_text(tensor->shape);
}

Json json_of(const CodeFinding& finding) {
    Json entry;
    entry["kind"] = gravity_name(finding.gravity);
    entry["bug"] = finding.bug.empty() ? Json() : Json(finding.bug);
    entry["stage"] = finding.stage.empty() ? Json() : Json(finding.stage);
    entry["line"] = finding.line.empty() ? Json() : Json(finding.line);
    entry["text"] = finding.text;
    return entry;
}

Json json_of(const std::vector<recording::Unfollowed>& unfollowed) {
    Json list = Json::list();
    for (const recording::Unfollowed& one : unfollowed) {
        Json entry;
        entry["what"] = one.what;
        entry["line"] = one.line.empty() ? Json() : Json(one.line);
        entry["do"] = one.todo;
        list.push_back(std::move(entry));
    }
    return list;
}

Json json_of(const Examined& examined, const recording::RecordedStep& step) {
    const recording::RecordedAttention& attention = *examined.attention;
    Json entry;
    entry["name"] = attention.name;
    entry["source"] = attention.source.empty() ? Json() : Json(attention.source);
    entry["call"] = attention.call;
    Json stages = Json::object();
    for (const recording::RecordedStage& stage : attention.stages) {
        const NamedArray* tensor = step.find(full_name(attention, stage));
        if (tensor != nullptr) stages[stage.name] = tensor->shape;
    }
    entry["stages"] = std::move(stages);
    entry["verdict"] = verdict_of(examined);
    Json findings = Json::list();
    for (const CodeFinding& finding : examined.findings) findings.push_back(json_of(finding));
    entry["findings"] = std::move(findings);
    entry["unfollowed"] = json_of(attention.unfollowed);
    return entry;
}

std::vector<std::int64_t> steps_of(const recording::Recording& recorded) {
    std::vector<std::int64_t> steps;
    for (const recording::StepFile& step : recorded.steps)
        if (steps.empty() || steps.back() != step.step) steps.push_back(step.step);
    return steps;
}

void print_json(const recording::Recording& recorded, const recording::RecordedStep& step, const std::vector<Examined>& all,
                const std::vector<CodeFinding>& around) {
    Json line;
    line["steps"] = steps_of(recorded);
    Json attentions = Json::list();
    for (const Examined& examined : all) attentions.push_back(json_of(examined, step));
    line["attentions"] = std::move(attentions);
    Json findings = Json::list();
    for (const CodeFinding& finding : around) findings.push_back(json_of(finding));
    line["findings"] = std::move(findings);
    line["unfollowed"] = json_of(recorded.unfollowed);
    line["error"] = recorded.error.empty() ? Json() : Json(recorded.error);
    fmt::print("{}\n", json_line(line));
}

std::string words_for(const StageCheck& check) {
    switch (check.outcome) {
    case Outcome::Follows:
        return "follows";
    case Outcome::Differs:
        return fmt::format("differs at [{}]: {:.6g} recorded, {:.6g} expected", fmt::join(check.cell, ","), check.recorded, check.expected);
    case Outcome::Unknown:
        return escaped(check.reason, 0);
    }
    return "";
}

void print_finding(const CodeFinding& finding) {
    fmt::print("  {}: {}{}\n", gravity_name(finding.gravity), escaped(finding.text, 0),
               finding.line.empty() ? "" : " (" + escaped(finding.line, 0) + ")");
}

void print_attention(const Examined& examined, const recording::RecordedStep& step) {
    const recording::RecordedAttention& attention = *examined.attention;
    const std::string call = attention.calls > 1 ? fmt::format(", call {} of {}", attention.call, attention.calls) : "";
    fmt::print("\n{}{}{}: {}\n", attention.name.empty() ? "attention" : escaped(attention.name, 0), call,
               attention.source.empty() ? "" : " (" + escaped(attention.source, 0) + ")", verdict_of(examined));
    std::size_t name_width = 0, shape_width = 0;
    for (const recording::RecordedStage& stage : attention.stages) {
        name_width = std::max(name_width, escaped(stage.name).size());
        shape_width = std::max(shape_width, shape_of(step, attention, stage).size());
    }
    for (std::size_t i = 0; i < attention.stages.size(); ++i) {
        const recording::RecordedStage& stage = attention.stages[i];
        fmt::print("  {:<{}}  {:<{}}  {}\n", escaped(stage.name), name_width, shape_of(step, attention, stage), shape_width,
                   words_for(examined.checks[i]));
    }
    for (std::size_t i = attention.stages.size(); i < examined.checks.size(); ++i)
        fmt::print("  {}: {}\n", escaped(examined.checks[i].stage, 0), words_for(examined.checks[i]));
    for (const CodeFinding& finding : examined.findings) print_finding(finding);
    for (const recording::Unfollowed& one : attention.unfollowed)
        fmt::print("  not followed: {}{}{}\n", escaped(one.what, 0), one.line.empty() ? "" : " (" + escaped(one.line, 0) + ")",
                   one.todo.empty() ? "" : "; " + escaped(one.todo, 0));
}

void print_text(const recording::Recording& recorded, const recording::StepFile& file, const recording::RecordedStep& step,
                const std::vector<Examined>& all, const std::vector<CodeFinding>& around) {
    const std::size_t count = steps_of(recorded).size();
    fmt::print("{}: {} {}, {} {}; this is step {}\n", escaped(recorded.path.native(), 0), count, count == 1 ? "step" : "steps", all.size(),
               all.size() == 1 ? "attention" : "attentions", file.step);
    if (recorded.ranks.size() > 1)
        fmt::print("Recorded by ranks {}; {}\n", fmt::join(recorded.ranks, ", "),
                   recorded.rank ? fmt::format("this is rank {}", *recorded.rank) : "these are the heads of all");
    if (!recorded.has_graph) fmt::print("Nothing tells how the stages were computed: `attnscope doctor` judges them by their numbers.\n");
    if (!step.is_complete()) fmt::print("An error ended this step: what came after it is missing.\n");
    if (!recorded.error.empty()) fmt::print("The code ended with {}\n", escaped(recorded.error, 0));
    for (const Examined& examined : all) print_attention(examined, step);
    if (!around.empty()) fmt::print("\n");
    for (const CodeFinding& finding : around) print_finding(finding);
    for (const recording::Unfollowed& one : recorded.unfollowed)
        fmt::print("not followed: {}{}\n", escaped(one.what, 0), one.todo.empty() ? "" : "; " + escaped(one.todo, 0));
}

bool is_wrong(const CodeFinding& finding) { return finding.gravity == Gravity::Wrong; }

int examine(const RecordingOptions& options) {
    const recording::Recording recorded = recording::read_recording(options.path, options.rank);
    const recording::StepFile& file = step_file(recorded, options.step);
    const recording::RecordedStep step(file);
    if (step.graph() >= recorded.graphs.size())
        throw FileError(FileFault::Schema, step.source(), "",
                        fmt::format("refers to graph {}, which recording.json does not have", step.graph()));
    const recording::RecordedGraph& graph = recorded.graphs[step.graph()];
    const recording::FindParameter parameter = parameters_as_of(recorded, file);
    std::vector<Examined> all;
    bool wrong = false;
    for (const recording::RecordedAttention& attention : graph.attentions) {
        Examined examined{&attention, check_stages(graph, attention, step, parameter), {}};
        examined.findings = findings_in(graph, attention, step, examined.checks);
        wrong = wrong || std::any_of(examined.findings.begin(), examined.findings.end(), is_wrong);
        all.push_back(std::move(examined));
    }
    const std::vector<CodeFinding> around = findings_around(graph);
    wrong = wrong || std::any_of(around.begin(), around.end(), is_wrong);
    if (options.json) print_json(recorded, step, all, around);
    else print_text(recorded, file, step, all, around);
    return wrong ? kExitMismatch : kExitOk;
}

/// The texts of a model's ids. Throws FileError if there are not as many, or no tokenizer can read them.
std::vector<std::string> words_in(const std::filesystem::path& path, std::int64_t ids) {
    const std::string source = escaped(path.native(), 0);
    const Json list = Json::parse(read_whole_file(path, {.max_bytes = kMaxTokenizerFile, .stop = {}}), source, kTokenizerLimits);
    const auto is_text = [](const Json& word) { return word.is_string(); };
    if (!list.is_list() || !std::all_of(list.items().begin(), list.items().end(), is_text))
        throw FileError(FileFault::Format, source, "", "is not a list of words");
    if (std::ssize(list.items()) != ids)
        throw FileError(FileFault::Format, source, "", fmt::format("has {} words, but the model {} ids", list.size(), ids));
    std::vector<std::string> words;
    for (const Json& word : list.items()) words.push_back(word.text());
    if (tokenizer_json_of(words).empty())
        throw FileError(
            FileFault::Format, source, "",
            "cannot be read as texts: every word has to be another one, and either all are single characters, or none has white space");
    return words;
}

int write_as_model(const RecordingOptions& options) {
    if (options.json) throw Error("--model writes a model and lists nothing: give it without --json");
    if (holds_model(options.model))
        throw FileError(FileFault::Io, escaped(options.model.native(), 0), "", "already holds a model: choose another folder");
    const recording::RecordedModel model =
        recording::model_of_recording(recording::read_recording(options.path, options.rank), options.step);
    write_model(options.model, *model.parameters, options.words.empty() ? model.words : words_in(options.words, model.config.vocab_size));
    fmt::print("{}: {}\n", escaped(options.model.native(), 0), model.proof());
    return kExitOk;
}

}  // namespace

void add_recording_command(CliCommand program, int& exit_code) {
    auto options = std::make_shared<RecordingOptions>();
    CliCommand command =
        program.command("recording", "List what was recorded of your own code, check its arithmetic and name its mistakes");
    command.option("PATH", options->path, "Folder that attnscope.py wrote, or a .safetensors, .npz or .npy file")
        .shown_as("PATH")
        .required();
    command.option("--step", options->step, "Step to look at; the newest by default").shown_as("N");
    command
        .option("--rank", options->rank,
                "Process whose recording is listed, of a job of several; without it all, if they have heads of one model, else the first")
        .shown_as("N")
        .between(0, 1 << 20);
    command
        .option("--model", options->model,
                "Instead of listing it, write it to this folder as a model, which the window and all commands with --model open")
        .shown_as("DIR");
    command
        .option("--words", options->words,
                "With --model: JSON file with a list of the texts of all ids, to speak to the model in; without it, those recorded")
        .shown_as("FILE");
    command.flag("--json", options->json, "Print one line of JSON instead of text");
    command.footer(
        "Exits with 1 if something is wrong, and with 2 if the recording cannot be read.\n"
        "With --model, the recorded parameters become a model that computes what the recorded code computed: every stage is compared,\n"
        "number by number, and code that a model of attnscope cannot express is refused with the reason.");
    command.on_run([options, &exit_code] {
        if (options->model.empty() && !options->words.empty()) throw Error("--words belongs to --model");
        exit_code = options->model.empty() ? examine(*options) : write_as_model(*options);
    });
}

}  // namespace attn::app
