#include "app/panels/kit/train_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "app/panels/kit/part_words.hpp"
#include "app/widgets/curve.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

std::string_view schedule_name(ScheduleKind kind) {
    switch (kind) {
    case ScheduleKind::Constant:
        return "constant";
    case ScheduleKind::Linear:
        return "linear";
    case ScheduleKind::Cosine:
        return "cosine";
    }
    return "";
}

/// Learning rates in short form, such as "3e−3", "1.5e−3".
std::string rate_text(double rate) {
    if (!(rate > 0)) return "0";
    const double mantissa = rate / std::pow(10.0, std::floor(std::log10(rate) + 1e-9));
    return format_scientific(rate, std::abs(mantissa - std::round(mantissa)) < 0.05 ? 0 : 1);
}

bool several_lengths(const TaskSettings& task) { return shortest_length(task) < task.length; }

/// Of a text's tokenizer; other tasks have their own.
std::string pieces_of(const RunSettings& run) {
    const TaskSettings& task = run.task;
    if (task.kind != TaskKind::Text) return "";
    if (!run.from.empty()) return "the model's words";
    return task.tokenizer == TokenizerKind::Bpe ? format_count(task.vocab) + " pieces" : "characters";
}

/// What distinguishes a run from others, in a fixed order; "" for what it does not have.
std::vector<std::string> described(const RunSettings& run) {
    const DropoutSettings& dropout = run.train.forward.dropout;
    std::vector<std::string> all = {
        task_title(run.task),
        fmt::format("length {}{}", several_lengths(run.task) ? fmt::format("{} to ", shortest_length(run.task)) : "", run.task.length),
        fmt::format("{} symbols", run.task.symbols),
        fmt::format("{} layer{}", run.model.num_layers, run.model.num_layers == 1 ? "" : "s"),
        fmt::format("{} head{}", run.model.num_heads, run.model.num_heads == 1 ? "" : "s"),
        fmt::format("d_model {}", run.model.d_model),
        "lr " + rate_text(run.train.schedule.rate),
        std::string(schedule_name(run.train.schedule.kind)),
        fmt::format("warm-up {}", run.train.schedule.warm_up_steps),
        "decay " + format_number(run.train.adamw.weight_decay, {.decimals = 2}),
        "dropout " + format_number(std::max({dropout.attention, dropout.residual, dropout.embedding}), {.decimals = 2}),
        fmt::format("batch {}", run.batch_size),
        fmt::format("seed {}", run.seed),
        run.train.forward.mistaken() ? std::string(mistake_info(run.train.forward.mistake).title) : "correct",
        pieces_of(run),
        run.from.empty() ? "random weights" : "weights of " + name_of_start(run)};
    const std::vector<std::string> parts = part_phrases(run.model);
    all.insert(all.end(), parts.begin(), parts.end());
    return all;
}

}  // namespace

std::string duration(double seconds) {
    const auto whole = static_cast<std::int64_t>(std::max(seconds, 0.0) + 0.5);
    if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string task_title(const TaskSettings& task) {
    if (task.kind == TaskKind::Text && !task.text_name.empty()) return task.text_name;
    return task_info(task.kind).title;
}

std::string name_of_start(const RunSettings& settings) { return visible_text(std::filesystem::path(settings.from).filename().native()); }

std::string subject_of_run(const RunSettings& settings) { return settings.from.empty() ? "A small transformer" : name_of_start(settings); }

std::string promise(const RunSettings& settings) {
    switch (settings.task.kind) {
    case TaskKind::Copy:
        return fmt::format("learns to copy {}{} symbols", several_lengths(settings.task) ? "up to " : "", settings.task.length);
    case TaskKind::Reverse:
        return fmt::format("learns to write {}{} symbols backwards", several_lengths(settings.task) ? "up to " : "", settings.task.length);
    case TaskKind::Sort:
        return fmt::format("learns to sort {}{} symbols", several_lengths(settings.task) ? "up to " : "", settings.task.length);
    case TaskKind::Repeat:
        return "learns to continue a repeating sequence";
    case TaskKind::Addition:
        return fmt::format("learns to add modulo {}", settings.task.symbols);
    case TaskKind::Bigram:
        return "learns which symbol follows which";
    case TaskKind::Text:
        if (!settings.from.empty()) return "learns to write like the text";
        return fmt::format("learns to write like the text, {}",
                           settings.task.tokenizer == TokenizerKind::Bpe ? "piece by piece" : "letter by letter");
    case TaskKind::Sum:
        return fmt::format("learns to add numbers of {} digits on paper", settings.task.length);
    case TaskKind::Stories:
        return "learns to tell stories, word by word";
    case TaskKind::FillIn:
        return "learns to find the words that are hidden in a story";
    case TaskKind::Translate:
        return "learns to translate: attention finds the word being translated";
    }
    return "";
}

std::string accuracy_by_length(std::span<const LengthAccuracy> by_length) {
    const auto percent = [](const LengthAccuracy& at) { return std::lround(100 * at.accuracy); };
    std::string text;
    for (auto first = by_length.begin(); first != by_length.end();) {
        const auto end = std::find_if(first, by_length.end(), [&](const LengthAccuracy& at) { return percent(at) != percent(*first); });
        const std::string lengths =
            end - first == 1 ? fmt::format("{}", first->length) : fmt::format("{} to {}", first->length, (end - 1)->length);
        text += fmt::format("{}{}: {} %", text.empty() ? "" : ", ", lengths, percent(*first));
        first = end;
    }
    return text;
}

std::vector<std::string> changed_settings(const RunSettings& before, const RunSettings& after) {
    const std::vector<std::string> old = described(before), now = described(after);
    std::vector<std::string> changes;
    for (std::size_t part = 0; part < old.size(); ++part)
        if (old[part] != now[part]) changes.push_back(fmt::format("{} → {}", old[part], now[part]));
    return changes;
}

std::string origin_words(const RunOrigin& origin) {
    const std::string name = origin.name.empty() ? fmt::format("run {}", origin.run) : fmt::format("“{}”", origin.name);
    return fmt::format("branched off {}{}", name, origin.from_earlier ? " of the session that saved it" : "");
}

const RunSettings& settings_of_step(const RunCurves& run, std::int64_t step) {
    const auto before = std::find_if(run.changes.rbegin(), run.changes.rend(), [&](const auto& change) { return change.step < step; });
    return before == run.changes.rend() ? run.settings : before->settings;
}

std::vector<std::string> run_names(std::span<const RunCurves> runs) {
    std::vector<std::vector<std::string>> parts;
    std::vector<std::vector<bool>> changed;  // settings changed during the run, shown with those of its last step
    for (const RunCurves& run : runs) {
        parts.push_back(described(run.settings));
        std::vector<std::string> later = described(settings_of_step(run, run.losses.empty() ? 0 : run.losses.back().step));
        changed.emplace_back(later.size(), false);
        for (std::size_t part = 0; part < later.size(); ++part) {
            if (later[part] == parts.back()[part]) continue;
            changed.back()[part] = true;
            parts.back()[part] += " → " + later[part];
        }
    }
    const auto differs = [&](std::size_t part) {
        return std::any_of(parts.begin(), parts.end(), [&](const auto& other) { return other[part] != parts.front()[part]; });
    };
    std::vector<bool> tells_apart;
    for (std::size_t part = 0; !parts.empty() && part < parts.front().size(); ++part) tells_apart.push_back(differs(part));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!runs[i].name.empty()) {
            names.push_back(runs[i].name);
            continue;
        }
        std::string name = fmt::format("run {}", runs[i].run);
        if (const auto& origin = runs[i].origin) name += fmt::format(" · from step {}", format_count(origin->step));
        for (std::size_t part = 0; part < parts[i].size(); ++part)
            if (!parts[i][part].empty() && (tells_apart[part] || changed[i][part])) name += " · " + parts[i][part];
        names.push_back(std::move(name));
    }
    return names;
}

std::string optimizer_words(const RunSettings& settings) { return fmt::format("rate {:g}, AdamW", settings.train.schedule.rate); }

std::string size_words(const RunSettings& settings) {
    const Config& model = settings.model;
    return fmt::format("{} layer{} × {} head{}", model.num_layers, model.num_layers == 1 ? "" : "s", model.num_heads,
                       model.num_heads == 1 ? "" : "s");
}

std::string other_step(std::span<const double> steps, double step) {
    if (steps.empty()) return "";
    const std::int64_t nearest = std::llround(steps[nearest_point(steps, step)]);
    return nearest == std::llround(step) ? "" : fmt::format(" at step {}", format_count(nearest));
}

std::string stop_words(const StopAt& stop) {
    std::string words;
    const auto add = [&words](const std::string& more) { words += (words.empty() ? "" : ", ") + more; };
    if (stop.accuracy > 0) add(fmt::format("{:g} %", stop.accuracy * 100));
    if (stop.loss > 0) add(fmt::format("loss {:g}", stop.loss));
    if (stop.plateau > 0) add("a plateau");
    if (stop.steps > 0) add(fmt::format("{} steps", format_count(stop.steps)));
    return words.empty() ? "no limit" : words;
}

}  // namespace attn::app
