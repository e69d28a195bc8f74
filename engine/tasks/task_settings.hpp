#pragma once
/// The tasks that a model can be trained on, and what is chosen for one. Plain values.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/plan/config.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace attn {

enum class TaskKind : std::uint8_t {
    Copy,       ///< "akmz>akmz": the answer repeats the question
    Reverse,    ///< "akmz>zmka"
    Sort,       ///< "mkza>akmz"
    Repeat,     ///< "akmzqakmzq": a random string, repeated: what induction heads are for
    Addition,   ///< "41 + 93 = 37": addition modulo a prime, learned from part of its table
    Bigram,     ///< symbols drawn from a random transition table
    Text,       ///< the next character of a text
    Sum,        ///< "347+586:13,13,09=933": addition column by column with written carries
    Stories,    ///< the next word of a synthetic story (engine/grammar/stories.hpp)
    FillIn,     ///< hidden words of such a story, from context on both sides
    Translate,  ///< a sentence of one toy language into another (engine/grammar/toy_languages.hpp)
};

struct TaskInfo {
    TaskKind kind;
    const char* name;                                ///< on the command line: "copy"
    const char* title;                               ///< "Copy"
    const char* explanation;                         ///< one sentence: what must be learned
    const char* accuracy;                            ///< one sentence: what accuracy measures
    Architecture model = Architecture::DecoderOnly;  ///< the architecture that can learn it
};
/// All tasks, in menu order.
std::span<const TaskInfo> tasks();
const TaskInfo& task_info(TaskKind kind);
/// Throws ConfigError listing the valid names.
TaskKind task_kind(std::string_view name);

/// Stands for a hidden word.
inline constexpr const char* kBlank = "_";

/// How stories are told with words that no list holds (engine/tasks/new_words.hpp).
struct NewWords {
    std::int64_t places = 0;          ///< for how many such words the vocabulary has a place; 0: none
    double stories = 0.5;             ///< share of the stories that have some
    double names_and_toys = 0.5;      ///< chance of a name or a toy to be such a word in one of them
    double other_words = 1.0 / 12.0;  ///< the same of every other word; marks stay as they are
    bool operator==(const NewWords&) const = default;
};

struct TaskSettings {
    TaskKind kind = TaskKind::Repeat;
    std::int64_t length = 8;  ///< symbols of the longest question or repeated string, of a Bigram sequence or a Text window; words; digits
    std::int64_t symbols = 16;      ///< number of different symbols; Addition's modulus; unused by Text, Sum and the tasks after it
    double validation_share = 0.1;  ///< share of all sequences (of the table, of the text) that never appear in training
    std::string text_name;          ///< Text: the file's name; "" = the sample text
    std::shared_ptr<const std::string> text;  ///< Text: the whole text, compared by identity; null = the sample text
    std::int64_t shortest =
        0;  ///< symbols of the shortest question or repeated string; 0: all have the same length (Repeat: from half of it)
    TokenizerKind tokenizer = TokenizerKind::Character;  ///< Text: Character or Bpe
    std::int64_t vocab = 1024;                           ///< Bpe: number of tokens, including the 256 bytes
    NewWords new_words{};                                ///< Stories
    bool operator==(const TaskSettings&) const = default;
};

/// The longest `length` of a task whose sequences have at most so many tokens; at least 1.
std::int64_t longest_length(TaskKind kind, std::int64_t tokens);
/// Symbols of the shortest question or repeated string, for tasks that have them.
std::int64_t shortest_length(const TaskSettings& task);
/// Throws ConfigError saying which setting is out of range and what would be valid.
void validate(const TaskSettings& settings);

}  // namespace attn
