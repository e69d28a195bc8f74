#pragma once
/// Everything that decides a training run: what is learned, by which model, how, and until when. Plain values.

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
    bool decay_everything = false;  ///< false: biases and norms do not decay
    bool operator==(const AdamwSettings&) const = default;
};

struct TrainSettings {
    AdamwSettings adamw;
    Schedule schedule;
    double clip_norm = 1;     ///< gradients are clipped at this global norm; 0 = off
    ForwardSettings forward;  ///< the dropout's seed is that of the run; every step draws its own pattern from it
    bool operator==(const TrainSettings&) const = default;
};

enum class TaskKind : std::uint8_t {
    Copy,       ///< "akmz>akmz": the answer repeats the question
    Reverse,    ///< "akmz>zmka"
    Sort,       ///< "mkza>akmz"
    Repeat,     ///< "akmzqakmzq": a random string, again and again; what induction heads are for
    Addition,   ///< "41 + 93 = 37": addition modulo a prime, learned from a part of its table
    Bigram,     ///< symbols drawn from a random table of which follows which
    Text,       ///< the next character of a text
    Sum,        ///< "347+586:13,13,09=933": addition column by column, carries written down
    Stories,    ///< the next word of a story told by our own grammar (engine/grammar/stories.hpp)
    FillIn,     ///< words hidden in such a story, from both sides
    Translate,  ///< a sentence of one toy language into another (engine/grammar/toy_languages.hpp)
};

struct TaskInfo {
    TaskKind kind;
    const char* name;                                ///< on the command line: "copy"
    const char* title;                               ///< "Copy"
    const char* explanation;                         ///< one sentence: what has to be learned
    const char* accuracy;                            ///< one sentence: what the accuracy counts
    Architecture model = Architecture::DecoderOnly;  ///< what can learn it
};
/// All tasks, in the order of menus.
std::span<const TaskInfo> tasks();
const TaskInfo& task_info(TaskKind kind);
/// Throws ConfigError naming the tasks that there are.
TaskKind task_kind(std::string_view name);

/// What stands for a hidden word.
inline constexpr const char* kBlank = "_";

struct TaskSettings {
    TaskKind kind = TaskKind::Repeat;
    std::int64_t length = 8;  ///< symbols of the longest question or repeated string; of a Bigram sequence or a Text window; words; digits
    std::int64_t symbols = 16;                ///< different symbols; the modulus of Addition; unused by Text, Sum and the tasks below it
    double validation_share = 0.1;            ///< of all sequences (of the table, of the text); they never appear in training
    std::string text_name;                    ///< of Text: the file's name; "" = the sample text
    std::shared_ptr<const std::string> text;  ///< of Text: the whole text, compared by identity; null = the sample text
    std::int64_t shortest = 0;  ///< symbols of the shortest question or repeated string; 0: one length only, of Repeat from half of it on
    TokenizerKind tokenizer = TokenizerKind::Character;  ///< of Text: Character or Bpe
    std::int64_t vocab = 1024;                           ///< of Bpe: pieces, the 256 bytes included
    bool operator==(const TaskSettings&) const = default;
};

/// The run ends with the first condition that holds; 0 switches one off.
struct StopAt {
    std::int64_t steps = 2000;
    double loss = 0;           ///< validation loss at or below it
    double accuracy = 0;       ///< validation accuracy at or above it, in 0..1
    std::int64_t plateau = 0;  ///< evaluations in a row without a better validation loss
    bool operator==(const StopAt&) const = default;
};

struct RunSettings {
    // These make a new model: a change of them takes effect with a new run.
    TaskSettings task;
    Config model;            ///< vocab_size and context_length follow from the task whatever they say here
    std::uint64_t seed = 1;  ///< of the parameters, the data and dropout
    // These apply to a run under way.
    TrainSettings train;
    std::int64_t batch_size = 32;
    std::int64_t evaluate_every = 25;  ///< steps between two evaluations on the validation set
    StopAt stop;
    bool operator==(const RunSettings&) const = default;
};

/// A run that learns its task in under a minute on two cores.
RunSettings default_run(TaskKind kind);
/// True when the two differ in nothing that takes a new model.
bool same_model(const RunSettings& a, const RunSettings& b);
/// Symbols of the shortest question or repeated string of a task that has them.
std::int64_t shortest_length(const TaskSettings& task);
/// The learning rates of a run that has made `steps` steps, up to stop.steps, as turning_rates(); of an endless run up to where they stay
/// the same.
std::vector<RateAt> rates_left(const RunSettings& settings, std::int64_t steps);
/// Says that all of them are 0; "" when one is not or no step is left.
std::string learns_nothing(const RunSettings& settings, std::int64_t steps);
/// Throws ConfigError saying which setting is out of range and what would do.
void validate(const RunSettings& settings);
void validate(const TaskSettings& settings);

}  // namespace attn
