#include "engine/model/model_pass.hpp"

#include <algorithm>
#include <string>

#include "engine/ops/embedding.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

void require_one_batch(const TokenBatch& batch, const Config& config, const char* what) {
    const std::int64_t expected = batch.size() * batch.length;
    if (batch.length < 0 || static_cast<std::int64_t>(batch.ids.size()) != expected)
        throw ShapeError(std::string(what) + ": " + std::to_string(batch.ids.size()) + " ids do not fill " + std::to_string(batch.size()) +
                         " sequences of " + std::to_string(batch.length) + " positions");
    for (const std::int64_t length : batch.lengths)
        if (length < 0 || length > batch.length)
            throw ShapeError(std::string(what) + ": a sequence of length " + std::to_string(length) + " in " +
                             std::to_string(batch.length) + " positions");
    if (batch.length > config.longest_text())
        throw ConfigError(std::string(what) + ": " + std::to_string(batch.length) + " positions exceed the context length " +
                          std::to_string(config.longest_text()));
    require_ids(batch.ids, config.vocab_size, "token id");
    if (batch.segments.empty() || config.num_segments == 0) return;
    if (batch.segments.size() != batch.ids.size())
        throw ShapeError(std::string(what) + ": " + std::to_string(batch.segments.size()) + " segments for " +
                         std::to_string(batch.ids.size()) + " tokens");
    require_ids(batch.segments, config.num_segments, "segment");
}

}  // namespace

void require_settings(const ForwardSettings& settings) {
    if (!(settings.temperature > 0))
        throw ConfigError("the temperature is " + std::to_string(settings.temperature) + "; expected a number above 0");
    for (const double rate : {settings.dropout.attention, settings.dropout.residual, settings.dropout.embedding})
        if (!(rate >= 0 && rate <= 1)) throw ConfigError("the dropout rate is " + std::to_string(rate) + "; expected 0 to 1");
    for (const Edit& edit : settings.edits) require_edit(edit);
}

void require_batch(const Config& config, const TokenBatch& tokens, const TokenBatch& source) {
    require_one_batch(tokens, config, "the text");
    if (config.architecture != Architecture::EncoderDecoder) return;
    require_one_batch(source, config, "the source text");
    if (source.size() != tokens.size())
        throw ShapeError(std::to_string(source.size()) + " source texts for " + std::to_string(tokens.size()) + " texts");
}

template <class Scalar>
ModelPass<Scalar>::ModelPass(const Parameters<Scalar>& parameters, Keep keep) : weights_(parameters), keep_(keep) {
    make_plan(Mistake::None);
}

template <class Scalar>
void ModelPass<Scalar>::make_plan(Mistake mistake) {
    mistake_ = mistake;
    staged_ = nullptr;
    fused_ = nullptr;
    program_ = nullptr;
    plan_ = Plan(config_, mistake);
    can_fuse_ = can_fuse(plan_);
}

template <class Scalar>
void ModelPass<Scalar>::use(const PackedWeights<Scalar>& packed) {
    packed_ = &packed;
    for (Program<Scalar>* program : {staged_.get(), fused_.get()})
        if (program != nullptr) program->use(packed);
}

template <class Scalar>
Program<Scalar>& ModelPass<Scalar>::program_for(bool shown) {
    const bool fuses = can_fuse_ && !shown;
    std::unique_ptr<Program<Scalar>>& program = fuses ? fused_ : staged_;
    if (program == nullptr) {
        program = std::make_unique<Program<Scalar>>(plan_, weights_, fuses ? Form::Fused : Form::Staged, keep_);
        if (packed_ != nullptr) program->use(*packed_);
    }
    return *program;
}

template <class Scalar>
void ModelPass<Scalar>::forward(const TokenBatch& tokens, const TokenBatch& source, const ForwardSettings& settings, Tap<Scalar>& tap,
                                std::int64_t first_sequence) {
    require_settings(settings);
    require_batch(config_, tokens, source);
    const bool two_stacks = config_.architecture == Architecture::EncoderDecoder;
    tokens_ = tokens;
    if (two_stacks) source_ = source;
    settings_ = settings;
    first_sequence_ = first_sequence;
    if (settings_.mistake != mistake_) make_plan(settings_.mistake);
    tap.begin_forward(settings_.edits);
    program_ = &program_for(tap.active());
    masks_ = &mask_builder_.build(plan_, settings_.masks, tokens_, two_stacks ? &source_ : nullptr, program_->masks_as());
    if (config_.lm_head) logits_ = program_->place(plan_.logits());
    const PassSetting<Scalar> setting{settings_, *masks_, tap, &tokens_, &source_, first_sequence_};
    program_->forward(setting, 0, plan_.nodes().size());
}

template <class Scalar>
const Tensor<Scalar>& ModelPass<Scalar>::logits() {
    return config_.lm_head && program_ != nullptr ? program_->value(logits_) : nothing_;
}

template <class Scalar>
CrossEntropy ModelPass<Scalar>::loss(std::span<const std::int32_t> targets, std::int64_t counted_in_all) {
    if (!config_.lm_head) throw ConfigError("a model without an output head predicts nothing to compare with targets");
    if (targets.size() != tokens_.ids.size())
        throw ShapeError(std::to_string(targets.size()) + " targets for " + std::to_string(tokens_.ids.size()) + " tokens");
    targets_.assign(targets.begin(), targets.end());
    row_losses_.resize(targets.size());
    program_->begin_backward();
    Tensor<Scalar>& dlogits = program_->begin_gradient(logits_);
    return cross_entropy<Scalar>(logits().data(), targets, config_.vocab_size, row_losses_, dlogits.data(), counted_in_all);
}

/// The loss is the mean of -log p[target].
template <class Scalar>
void ModelPass<Scalar>::begin_probabilities() {
    const std::size_t place = logits_ + 1;
    Tensor<Scalar>& gradient = program_->begin_gradient(place);
    std::fill(gradient.values().begin(), gradient.values().end(), Scalar{0});
    const std::int64_t counted = std::count_if(targets_.begin(), targets_.end(), [](std::int32_t t) { return t != kIgnoredTarget; });
    for (std::size_t row = 0; row < targets_.size(); ++row) {
        if (targets_[row] == kIgnoredTarget) continue;
        const std::int64_t cell = static_cast<std::int64_t>(row) * config_.vocab_size + targets_[row];
        gradient.data()[cell] = Scalar{-1} / (static_cast<Scalar>(counted) * program_->value(place).data()[cell]);
    }
}

template <class Scalar>
void ModelPass<Scalar>::backward(Tap<Scalar>& tap) {
    if (gradients_ == nullptr) gradients_ = std::make_unique<Gradients<Scalar>>(config_);
    backward(tap, *gradients_, true);
}

template <class Scalar>
void ModelPass<Scalar>::backward(Tap<Scalar>& tap, Gradients<Scalar>& into, bool fresh) {
    if (fresh)
        for (const std::span<Scalar>& sum : into.sums) std::fill(sum.begin(), sum.end(), Scalar{0});
    tap.begin_backward(settings_.edits);
    program_->begin_backward();
    program_->begin_gradient(logits_);  // loss() computed it
    if (tap.active()) begin_probabilities();
    const PassSetting<Scalar> setting{settings_, *masks_, tap, &tokens_, &source_, first_sequence_, &into, fresh};
    program_->backward(setting, 0, plan_.nodes().size());
}

template class ModelPass<float>;
template class ModelPass<double>;

}  // namespace attn
