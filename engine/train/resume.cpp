#include "engine/train/resume.hpp"

#include <fmt/format.h>

#include <utility>

#include "engine/tensor/error.hpp"

namespace attn {

Checkpoint take_checkpoint(const TrainingRun& run) {
    const TrainingState<float>& state = run.state();
    const Tokenizer& tokenizer = run.dataset().tokenizer();
    Checkpoint checkpoint;
    checkpoint.settings = run.settings();
    checkpoint.steps = run.steps();
    checkpoint.course.begun = checkpoint.settings;
    checkpoint.plateau = run.plateau();
    checkpoint.tokenizer = tokenizer.kind();
    checkpoint.special_tokens = tokenizer.has_special_tokens();
    checkpoint.vocabulary = tokenizer.vocabulary();
    checkpoint.parameters = std::make_shared<const Parameters<float>>(state.parameters());
    checkpoint.first_moments = state.optimizer().first_moments();
    checkpoint.second_moments = state.optimizer().second_moments();
    return checkpoint;
}

std::unique_ptr<TrainingRun> resume_run(const Checkpoint& checkpoint, std::size_t history_budget, std::span<const Moment> earlier) {
    if (!checkpoint.resumable())
        throw ConfigError(
            "this checkpoint holds only a model, without the optimizer's moments, so it cannot be trained further; a published "
            "model opens as a folder, with its config.json and tokenizer");
    // The model that it began with may be gone by now.
    StartModel from;
    if (!checkpoint.settings.from.empty()) from = {checkpoint.parameters, words_of(checkpoint.vocabulary)};
    auto run = std::make_unique<TrainingRun>(checkpoint.settings, from, history_budget);
    const Tokenizer& tokenizer = run->dataset().tokenizer();
    if (tokenizer.kind() != checkpoint.tokenizer || tokenizer.has_special_tokens() != checkpoint.special_tokens ||
        tokenizer.vocabulary() != checkpoint.vocabulary)
        throw ConfigError("the vocabulary of this checkpoint is not that of its task");
    run->restore(*checkpoint.parameters, checkpoint.first_moments, checkpoint.second_moments, checkpoint.steps, earlier,
                 checkpoint.plateau);
    return run;
}

}  // namespace attn
