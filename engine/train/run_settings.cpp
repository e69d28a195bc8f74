#include "engine/train/run_settings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/model/model_pass.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/require_between.hpp"
#include "engine/train/adamw.hpp"

namespace attn {
namespace {

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

bool same_model(const RunSettings& a, const RunSettings& b) {
    Config model = a.model;
    // Derived from the task and the run's seed.
    model.vocab_size = b.model.vocab_size;
    model.context_length = b.model.context_length;
    model.seed = b.model.seed;
    return a.task == b.task && a.from == b.from && model == b.model && a.seed == b.seed;
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
        "nothing would be learned: the learning rate is 0 from step {} on. Raise total_steps or last_rate (the schedule has rate {}, "
        "last_rate {}, total_steps {})",
        steps + 1, schedule.rate, schedule.last_rate, schedule.total_steps);
}

void validate(const RunSettings& settings) {
    constexpr std::int64_t kLargestBatch = 4096, kMaxTotalSteps = 1'000'000'000;
    validate(settings.task);
    if (!settings.from.empty() && settings.task.kind == TaskKind::Text && settings.task.tokenizer != TokenizerKind::Character)
        throw ConfigError("a model that is trained further reads a text in its own words: leave the tokenizer out");
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
