#pragma once
/// Everything that determines a training run: task, model, training and stopping. Plain values.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/config.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/trace/trace.hpp"
#include "engine/train/schedule.hpp"

namespace attn {

struct AdamwSettings {
    double beta1 = 0.9;
    double beta2 = 0.95;
    double eps = 1e-8;
    double weight_decay = 0.1;
    bool decay_everything = false;  ///< false: biases and norms are exempt
    bool operator==(const AdamwSettings&) const = default;
};

struct TrainSettings {
    AdamwSettings adamw;
    Schedule schedule;
    double clip_norm = 1;     ///< limit of the global gradient norm; 0 = off
    ForwardSettings forward;  ///< the dropout seed is the run's; every step derives its own pattern
    bool operator==(const TrainSettings&) const = default;
};

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
    bool operator==(const TaskSettings&) const = default;
};

/// The run ends as soon as any of these conditions is met; 0 disables one.
struct StopAt {
    std::int64_t steps = 2000;
    double loss = 0;           ///< validation loss at most this
    double accuracy = 0;       ///< validation accuracy at least this, in [0, 1]
    std::int64_t plateau = 0;  ///< this many evaluations in a row without a better validation loss
    bool operator==(const StopAt&) const = default;
};

struct RunSettings {
    // Changes of these require a new model and take effect with a new run.
    TaskSettings task;
    Config model;            ///< vocab_size and context_length are ignored and follow from the task
    std::uint64_t seed = 1;  ///< of parameters, data and dropout
    // Changes of these apply to a run under way.
    TrainSettings train;
    std::int64_t batch_size = 32;
    std::int64_t evaluate_every = 25;  ///< steps between evaluations on the validation set
    StopAt stop;
    bool operator==(const RunSettings&) const = default;
};

/// A run that learns its task in under a minute on two cores.
RunSettings default_run(TaskKind kind);
/// Whether both settings can be used with the same model.
bool same_model(const RunSettings& a, const RunSettings& b);
/// Symbols of the shortest question or repeated string, for tasks that have them.
std::int64_t shortest_length(const TaskSettings& task);
/// The learning rates that remain for a run after `steps` steps, up to stop.steps, in the form of turning_rates(); for an endless run, up
/// to where they stay constant.
std::vector<RateAt> rates_left(const RunSettings& settings, std::int64_t steps);
/// A message if all of them are 0; "" if one is not, or if no step is left.
std::string learns_nothing(const RunSettings& settings, std::int64_t steps);
/// Throws ConfigError saying which setting is out of range and what would be valid.
void validate(const RunSettings& settings);
void validate(const TaskSettings& settings);

}  // namespace attn
