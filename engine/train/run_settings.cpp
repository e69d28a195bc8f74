#include "engine/train/run_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/io/file_error.hpp"
#include "engine/model/model_pass.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/own_bpe.hpp"
#include "engine/train/adamw.hpp"

namespace attn {
namespace {

constexpr std::array<TaskInfo, 11> kTasks = {{
    {TaskKind::Copy, "copy", "Copy", "Repeat the symbols before the separator in the same order.", "Correct symbols after the separator."},
    {TaskKind::Reverse, "reverse", "Reverse", "Write the symbols before the separator in reverse order.",
     "Correct symbols after the separator."},
    {TaskKind::Sort, "sort", "Sort", "Write the symbols before the separator in alphabetical order.",
     "Correct symbols after the separator."},
    {TaskKind::Repeat, "repeat", "Repeat",
     "A random string repeats: find the current symbol further back and write what followed it there.",
     "Correct symbols from the first repeated one on."},
    {TaskKind::Addition, "addition", "Modular addition", "Add two numbers modulo a third, having seen only part of the table.",
     "Correct sums of pairs that were never shown in either order."},
    {TaskKind::Bigram, "bigram", "Bigram", "Each symbol is drawn according to the one before it, from a fixed random table.",
     "How often the likeliest symbol came; chance keeps it below 100 %."},
    {TaskKind::Text, "text", "Text", "Write the next character or piece of a text.", "Correct next tokens in the held-out part."},
    {TaskKind::Sum, "sum", "Addition on paper", "Add two numbers column by column from the right, and write down the carries.",
     "Correct characters after the colon, of pairs that were never shown in either order."},
    {TaskKind::Stories, "stories", "Stories", "Write the next word of a short story: who has what, who she is, why somebody is sad.",
     "How often the likeliest word came; what a story leaves open keeps it below 100 %."},
    {TaskKind::FillIn, "fill-in", "Fill in", "Find the words hidden in a short story from those before and after them.",
     "How often the likeliest word was the hidden one; what the story leaves open keeps it below 100 %.", Architecture::Encoder},
    {TaskKind::Translate, "translate", "Translate",
     "Translate sentences into a language with a different word order, agreement, and two words for some.",
     "Correct words of translations, each after the correct ones before it.", Architecture::EncoderDecoder},
}};

/// Throws ConfigError unless low <= value <= high.
template <class Number>
void require_between(const char* what, Number value, Number low, Number high) {
    // Written so that NaN fails.
    if (!(value >= low && value <= high)) throw ConfigError(fmt::format("{} is {}; expected {} to {}", what, value, low, high));
}

const char* words_of(Architecture architecture) {
    switch (architecture) {
    case Architecture::Encoder:
        return "an encoder";
    case Architecture::DecoderOnly:
        return "a decoder-only model";
    case Architecture::EncoderDecoder:
        return "an encoder-decoder";
    }
    return "";
}

void require_model(const RunSettings& settings) {
    Config config = settings.model;
    config.vocab_size = std::max<std::int64_t>(1, settings.task.symbols);
    config.context_length = 1;
    validate(config);
    if (const TaskInfo& task = task_info(settings.task.kind); config.architecture != task.model)
        throw ConfigError(
            fmt::format("the task {} needs {}, but this is {}", task.name, words_of(task.model), words_of(config.architecture)));
    if (!config.lm_head) throw ConfigError("a model without an output head predicts nothing: switch the output head on");
}

void require_training(const TrainSettings& train, Architecture model) {
    constexpr double kLargestRate = 100;
    require_adamw(train.adamw);
    require_between("the learning rate", train.schedule.rate, 0.0, kLargestRate);
    require_between("the last learning rate", train.schedule.last_rate, 0.0, kLargestRate);
    require_between("the weight decay", train.adamw.weight_decay, 0.0, kLargestRate);
    learning_rate(train.schedule, 0);
    clip_factor(0, train.clip_norm);
    require_settings(train.forward);
    const MaskSettings& masks = train.forward.masks;
    require_between("the attention window", masks.window, 0, 1 << 20);
    require_between("the attention block", masks.block, 0, 1 << 20);
    if (model == Architecture::Encoder) return;
    if (!masks.causal) throw ConfigError("without the causal mask the model would see the tokens it has to predict: switch it on");
    if (masks.prefix != 0) throw ConfigError("with a prefix mask the model would see the tokens it has to predict: switch it off");
}

}  // namespace

std::span<const TaskInfo> tasks() { return kTasks; }

const TaskInfo& task_info(TaskKind kind) { return kTasks[static_cast<std::size_t>(kind)]; }

TaskKind task_kind(std::string_view name) {
    std::string names;
    for (const TaskInfo& info : kTasks) {
        if (name == info.name) return info.kind;
        names += (names.empty() ? "" : ", ") + std::string(info.name);
    }
    throw ConfigError(fmt::format("there is no task \"{}\"; expected one of {}", escaped(name), names));
}

bool same_model(const RunSettings& a, const RunSettings& b) {
    Config model = a.model;
    // Derived from the task and the run's seed.
    model.vocab_size = b.model.vocab_size;
    model.context_length = b.model.context_length;
    model.seed = b.model.seed;
    return a.task == b.task && model == b.model && a.seed == b.seed;
}

std::int64_t shortest_length(const TaskSettings& task) {
    return task.shortest > 0 ? task.shortest : task.kind == TaskKind::Repeat ? (task.length + 1) / 2 : task.length;
}

std::vector<RateAt> rates_left(const RunSettings& settings, std::int64_t steps) {
    const std::int64_t last = settings.stop.steps;
    return turning_rates(settings.train.schedule, steps, last > 0 ? last : std::max(settings.train.schedule.total_steps, steps) + 1);
}

std::string learns_nothing(const RunSettings& settings, std::int64_t steps) {
    const std::vector<RateAt> rates = rates_left(settings, steps);
    if (rates.empty() || std::any_of(rates.begin(), rates.end(), [](const RateAt& at) { return at.rate > 0; })) return "";
    const Schedule& schedule = settings.train.schedule;
    return fmt::format(
        "the learning rate is 0 from step {} on, so nothing would be learned (schedule: rate {}, last_rate {}, total_steps {})", steps + 1,
        schedule.rate, schedule.last_rate, schedule.total_steps);
}

void validate(const TaskSettings& task) {
    constexpr std::int64_t kLongest = 1024, kSymbols = 62, kLargestModulus = 997, kMostDigits = 8, kShortestStory = 16;
    require_between("the share held out", task.validation_share, 0.01, 0.9);
    if (task.tokenizer != TokenizerKind::Character && (task.kind != TaskKind::Text || task.tokenizer != TokenizerKind::Bpe))
        throw ConfigError("only the task text has a choice of tokenizer, character or bpe");
    if (task.tokenizer == TokenizerKind::Bpe) require_between("the number of pieces", task.vocab, kByteTokens, kMostOwnTokens);
    if (task.kind == TaskKind::Translate) return;
    if (task.kind == TaskKind::Addition) {
        require_between("the modulus", task.symbols, std::int64_t{5}, kLargestModulus);
        return;
    }
    if (task.kind == TaskKind::Sum) {
        require_between("the number of digits", task.length, std::int64_t{1}, kMostDigits);
        return;
    }
    if (task.kind == TaskKind::Stories || task.kind == TaskKind::FillIn) {
        require_between("the number of words", task.length, kShortestStory, kLongest);
        return;
    }
    require_between("the length", task.length, std::int64_t{2}, kLongest);
    require_between("the shortest length", task.shortest, std::int64_t{0}, task.length);
    if (task.kind == TaskKind::Text) return;
    require_between("the number of symbols", task.symbols, std::int64_t{2}, kSymbols);
    if (task.kind == TaskKind::Repeat && task.symbols < task.length)
        throw ConfigError(fmt::format("{} symbols are too few for {} different ones in a row: choose {} symbols or a length of {}",
                                      task.symbols, task.length, std::min(task.length, kSymbols), task.symbols));
}

void validate(const RunSettings& settings) {
    constexpr std::int64_t kLargestBatch = 4096, kMaxTotalSteps = 1'000'000'000;
    validate(settings.task);
    require_model(settings);
    require_training(settings.train, settings.model.architecture);
    require_between("the batch size", settings.batch_size, std::int64_t{1}, kLargestBatch);
    require_between("the number of steps between evaluations", settings.evaluate_every, std::int64_t{1}, kMaxTotalSteps);
    require_between("the number of steps to stop at", settings.stop.steps, std::int64_t{0}, kMaxTotalSteps);
    require_between("the loss to stop at", settings.stop.loss, 0.0, 1000.0);
    require_between("the accuracy to stop at", settings.stop.accuracy, 0.0, 1.0);
    require_between("the plateau to stop at", settings.stop.plateau, std::int64_t{0}, kMaxTotalSteps);
}

}  // namespace attn
