#include "app/cli/train_options.hpp"

#include <fmt/core.h>

#include <system_error>
#include <utility>

#include "app/cli/document_options.hpp"
#include "app/cli/number_checks.hpp"
#include "app/cli/setting_at_fault.hpp"
#include "app/cli/setting_patch.hpp"
#include "app/cli/training_options.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/text_file.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/tokenizer/own_bpe.hpp"
#include "engine/train/resume.hpp"
#include "engine/train/run_json.hpp"

namespace attn::app {
namespace {

constexpr std::int64_t kMaxTotalSteps = 1'000'000'000;

/// The contents of the configuration file; "" if none was given.
std::string read_config(const TrainOptions& options) {
    if (options.config_file.empty()) return "";
    std::string config = read_whole_file(options.config_file, {.max_bytes = kMaxJsonBytes, .stop = {}});
    if (config.empty())
        throw FileError(FileFault::Truncated, escaped(options.config_file.native(), 0), "", "the file is empty: expected a JSON object");
    return config;
}

RunSettings with_config(const TrainOptions& options, const std::string& config, RunSettings base) {
    return config.empty() ? base : run_settings_from_json(config, escaped(options.config_file.native(), 0), std::move(base));
}

/// The task given on the command line or in the configuration.
TaskKind wanted_task(const TrainOptions& options, const std::string& config) {
    if (!options.text_file.empty()) return TaskKind::Text;
    if (!options.task.empty()) return task_kind(options.task);
    if (config.empty()) throw Error("say what to learn: --task NAME, --text-file FILE, --config FILE or --resume FILE");
    return with_config(options, config, {}).task.kind;
}

/// Refuses an option and a --set that contradict each other.
template <class T>
void require_same(const char* option, const T& given, const char* setting, const T& set) {
    if (given != set) throw Error(fmt::format("{} is {}, but --set {} is {}: give one of them", option, given, setting, set));
}

/// Applies the command line options to `settings`.
RunSettings changed(const TrainOptions& options, RunSettings settings) {
    const bool follows = settings.train.schedule.total_steps == settings.stop.steps;
    if (options.steps) settings.stop.steps = *options.steps;
    // A learning rate scheduled over the whole run follows a change of its length. A resumed run keeps its schedule.
    if (options.steps && follows && options.resume_file.empty()) settings.train.schedule.total_steps = *options.steps;
    if (options.seed) settings.seed = *options.seed;
    if (!options.tokenizer.empty()) settings.task.tokenizer = options.tokenizer == "bpe" ? TokenizerKind::Bpe : TokenizerKind::Character;
    if (options.vocab && settings.task.tokenizer != TokenizerKind::Bpe) throw Error("--vocab is the number of pieces of --tokenizer bpe");
    if (options.vocab) settings.task.vocab = *options.vocab;
    for (const std::string& assignment : options.assignments) settings = with_setting(settings, assignment);
    if (options.steps) require_same("--steps", *options.steps, "stop.steps", settings.stop.steps);
    if (options.seed) require_same("--seed", *options.seed, "seed", settings.seed);
    if (!options.bug.empty()) settings.train.forward.mistake = mistake_by_name(options.bug);
    return settings;
}

RunSettings new_settings(const TrainOptions& options, const std::string& config) {
    const TaskKind kind = wanted_task(options, config);
    RunSettings settings = with_config(options, config, default_run(kind));
    if (settings.task.kind != kind)
        throw FileError(FileFault::Schema, escaped(options.config_file.native(), 0), "/task/kind",
                        fmt::format("is {}, but the requested task is {}", task_info(settings.task.kind).name, task_info(kind).name));
    settings = changed(options, std::move(settings));
    if (!options.from.empty()) settings.from = std::filesystem::absolute(options.from).string();
    if (!options.task.empty()) require_same("--task", task_info(kind).name, "task.kind", task_info(settings.task.kind).name);
    if (!options.text_file.empty()) {
        settings.task.kind = TaskKind::Text;
        settings.task.text_name = options.text_file.filename().string();
        settings.task.text = std::make_shared<const std::string>(read_text_file(options.text_file).text);
    } else if (!settings.task.text_name.empty()) {
        const std::string problem =
            fmt::format("a configuration does not contain the text {} itself: give it with --text-file", escaped(settings.task.text_name));
        if (config.empty()) throw Error(problem);
        throw FileError(FileFault::Schema, escaped(options.config_file.native(), 0), "/task/text_name", problem);
    }
    return settings;
}

/// Rejects values for settings that are derived from the task and the seed and would be ignored. `base`: the settings before the changes,
/// `wanted`: after them, `made`: those of the run.
void require_followed(const RunSettings& base, const RunSettings& wanted, const RunSettings& made) {
    const auto require = [](const char* name, const auto& before, const auto& asked, const auto& used, const char* source) {
        if (asked != before && asked != used)
            throw ConfigError(fmt::format("{} is {}; expected {}, which follows from the {}, or leave it out", name, asked, used, source));
    };
    const Config &b = base.model, &w = wanted.model, &m = made.model;
    if (!wanted.from.empty() && w != b && !same_model(wanted, made))
        throw ConfigError("a model that is trained further keeps its sizes and parts: leave the settings of model out");
    require("model.context_length", b.context_length, w.context_length, m.context_length, "length of the task");
    require("model.vocab_size", b.vocab_size, w.vocab_size, m.vocab_size, "symbols of the task");
    require("model.seed", b.seed, w.seed, m.seed, "seed of the run");
    require("train.forward.dropout.seed", base.train.forward.dropout.seed, wanted.train.forward.dropout.seed,
            made.train.forward.dropout.seed, "seed of the run");
}

/// The run's curves and moments from the checkpoint's folder.
RunFolder past_of(const std::filesystem::path& checkpoint) {
    if (checkpoint.filename() != kCheckpointName) return {};
    return read_run_folder(checkpoint.parent_path().empty() ? "." : checkpoint.parent_path());
}

WantedRun begun(const TrainOptions& options, const std::string& config) {
    const RunSettings settings = new_settings(options, config);
    WantedRun wanted{std::make_unique<TrainingRun>(settings), {}};
    wanted.past.checkpoint.course.begun = wanted.run->settings();
    require_followed(default_run(settings.task.kind), settings, wanted.run->settings());
    return wanted;
}

WantedRun resumed(const TrainOptions& options, const std::string& config) {
    WantedRun wanted;
    std::error_code none;
    const bool folder = std::filesystem::is_directory(options.resume_file, none);
    const std::filesystem::path file = folder ? options.resume_file / kCheckpointName : options.resume_file;
    const Checkpoint checkpoint = read_checkpoint(file);
    const RunSettings settings = changed(options, with_config(options, config, checkpoint.settings));
    if (!same_model(settings, checkpoint.settings))
        throw Error("task, model and seed of a resumed run cannot be changed: start a new run instead");
    wanted.past = past_of(file);
    wanted.run = resume_run(checkpoint, History::kDefaultBudget, wanted.past.moments);
    wanted.run->apply(settings);
    Checkpoint& past = wanted.past.checkpoint;
    past.name = checkpoint.name;
    past.course = checkpoint.course;
    if (!same_but_for_end(checkpoint.settings, wanted.run->settings()))
        past.course.changes.push_back({checkpoint.steps, wanted.run->settings()});
    require_followed(checkpoint.settings, settings, wanted.run->settings());
    return wanted;
}

WantedRun wanted_run(const TrainOptions& options, const std::string& config) {
    WantedRun wanted = options.resume_file.empty() ? begun(options, config) : resumed(options, config);
    if (const std::string why = learns_nothing(wanted.run->settings(), wanted.run->steps()); !why.empty()) throw Error(why);
    return wanted;
}

bool is_possible(const TrainOptions& options, const std::string& config) {
    try {
        wanted_run(options, config);
        return true;
    } catch (const Error&) {
        return false;
    }
}

/// Throws the problem again with the --set or the place in the configuration that makes it.
void name_fault(const TrainOptions& options, const std::string& config, const std::string& problem) {
    const auto without_assignment = [&](std::size_t i) {
        TrainOptions others = options;
        others.assignments.erase(others.assignments.begin() + static_cast<std::ptrdiff_t>(i));
        return is_possible(others, config);
    };
    if (const int i = setting_at_fault(options.assignments, problem, without_assignment); i >= 0)
        throw ConfigError(fmt::format("--set {}: {}", escaped(options.assignments[static_cast<std::size_t>(i)]), problem));
    if (config.empty()) return;
    std::vector<std::string> places = places_of_values(config);
    std::erase(places, "/task/kind");  // without it, the run would be another
    const int place =
        setting_at_fault(places, problem, [&](std::size_t i) { return is_possible(options, without_value(config, places[i])); });
    throw FileError(FileFault::Schema, escaped(options.config_file.native(), 0), place < 0 ? "" : places[static_cast<std::size_t>(place)],
                    problem);
}

}  // namespace

void add_train_options(CliCommand command, TrainOptions& options) {
    const Argument task =
        command.option("--task", options.task, with_names("What to learn", task_names())).shown_as("NAME").suggest(task_names());
    const Argument text = command.option("--text-file", options.text_file, "Learn to continue this text, by characters or by pieces")
                              .shown_as("FILE")
                              .excludes(task);
    const Argument from = command
                              .option("--from", options.from,
                                      "Train this model further: a folder in Hugging Face's layout or a GGUF file, whose words are single "
                                      "characters, whole words or ids")
                              .shown_as("DIR|FILE.gguf");
    command
        .option("--tokenizer", options.tokenizer,
                "What a text is split into: character, or bpe, pieces that byte-pair encoding learns from it")
        .shown_as("NAME")
        .one_of({"character", "bpe"});
    command.option("--vocab", options.vocab, "Pieces of --tokenizer bpe, the 256 bytes included (1024 by default)")
        .shown_as("N")
        .between(kByteTokens, kMostOwnTokens);
    command.option("--steps", options.steps, "Total number of steps after which the run ends").shown_as("N").between(1, kMaxTotalSteps);
    const Argument seed = command.option("--seed", options.seed, "Seed of parameters, data and dropout; the same seed gives the same run")
                              .shown_as("N")
                              .check(check_whole_number);
    command.option("--config", options.config_file, "Settings as a JSON object; what it leaves out keeps the task's own values")
        .shown_as("FILE.json");
    command.option("--set", options.assignments, "One setting by name (below), overriding the configuration; may be repeated")
        .shown_as("KEY=VALUE")
        .one_at_a_time();
    command.option("--bug", options.bug, with_names("Make this mistake on purpose, in training and evaluation", bug_names()))
        .shown_as("NAME")
        .suggest(bug_names());
    add_save_options(command, options.save);
    command
        .option("--half", options.half_file, "Write only the finished model, in half precision, like the models that come with the program")
        .shown_as("FILE");
    command
        .option("--resume", options.resume_file,
                "Continue from this checkpoint (or the one in this folder), bit for bit as if never interrupted")
        .shown_as("FILE")
        .excludes(task)
        .excludes(text)
        .excludes(from)
        .excludes(seed);
    command.option("--threads", options.threads, "Threads to use (default: all processors); the numbers do not depend on it")
        .shown_as("N")
        .between(1, kMostThreads);
    command.flag("--json", options.json, "Print one line of JSON per step");
}

WantedRun make_run(const TrainOptions& options) {
    const std::string config = read_config(options);
    try {
        return wanted_run(options, config);
    } catch (const FileError&) {
        throw;
    } catch (const Error& error) {
        const std::string problem = error.what();
        if (!problem.starts_with("--")) name_fault(options, config, problem);
        throw;
    }
}

}  // namespace attn::app
