#include "engine/tasks/task_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/io/file_error.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/require_between.hpp"
#include "engine/tokenizer/own_bpe.hpp"

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

std::int64_t longest_length(TaskKind kind, std::int64_t tokens) {
    switch (kind) {
    case TaskKind::Copy:
    case TaskKind::Reverse:
    case TaskKind::Sort:
        return std::max<std::int64_t>(1, tokens / 2);
    case TaskKind::Repeat:
        return std::max<std::int64_t>(1, (tokens + 1) / 2);
    case TaskKind::Sum:
        return std::max<std::int64_t>(1, (tokens - 2) / 6);
    case TaskKind::Bigram:
    case TaskKind::Text:
    case TaskKind::Stories:
    case TaskKind::FillIn:
    case TaskKind::Addition:
    case TaskKind::Translate:
        break;
    }
    return std::max<std::int64_t>(1, tokens);
}

std::int64_t shortest_length(const TaskSettings& task) {
    return task.shortest > 0 ? task.shortest : task.kind == TaskKind::Repeat ? (task.length + 1) / 2 : task.length;
}

namespace {

void validate(const NewWords& words, TaskKind kind) {
    if (words != NewWords{} && kind != TaskKind::Stories) throw ConfigError("only the task stories can have new words");
    require_between("the number of places for new words", words.places, std::int64_t{0}, kMostPlaces);
    require_between("the share of stories with new words", words.stories, 0.0, 1.0);
    require_between("the chance of names and toys to be new words", words.names_and_toys, 0.0, 1.0);
    require_between("the chance of other words to be new words", words.other_words, 0.0, 1.0);
}

}  // namespace

void validate(const TaskSettings& task) {
    constexpr std::int64_t kLongest = 1024, kSymbols = 62, kLargestModulus = 997, kMostDigits = 8, kShortestStory = 16;
    require_between("the share held out", task.validation_share, 0.01, 0.9);
    if (task.tokenizer != TokenizerKind::Character && (task.kind != TaskKind::Text || task.tokenizer != TokenizerKind::Bpe))
        throw ConfigError("only the task text has a choice of tokenizer, character or bpe");
    if (task.tokenizer == TokenizerKind::Bpe) require_between("the number of pieces", task.vocab, kByteTokens, kMostOwnTokens);
    validate(task.new_words, task.kind);
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

}  // namespace attn
