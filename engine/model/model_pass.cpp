#include "engine/model/model_pass.hpp"

#include <algorithm>
#include <string>

#include "engine/attention/position.hpp"
#include "engine/ops/column_sums.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/elementwise.hpp"
#include "engine/ops/embedding.hpp"
#include "engine/ops/linear.hpp"
#include "engine/ops/softmax.hpp"

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
    if (batch.length > config.context_length)
        throw ConfigError(std::string(what) + ": " + std::to_string(batch.length) + " positions are more than the context length " +
                          std::to_string(config.context_length));
    require_ids(batch.ids, config.vocab_size, "token id");
}

/// The mask to build anew in: that of the last pass unless somebody still looks at it.
Mask& own(std::shared_ptr<Mask>& mask) {
    if (mask == nullptr || mask.use_count() > 1) mask = std::make_shared<Mask>();
    return *mask;
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
Gradients<Scalar>::Gradients(const Config& config) : values(config), weights(weights_of(values)) {
    std::vector<const Scalar*> products{weights.lm_head};
    for_each_linear(weights, [&](const LinearWeights<Scalar>& linear) { products.push_back(linear.weight); });
    for (const ParameterInfo& info : values.layout().entries()) {
        Scalar* first = values.data() + info.offset;
        if (std::find(products.begin(), products.end(), first) == products.end())
            sums.emplace_back(first, static_cast<std::size_t>(info.shape.count()));
    }
}

template <class Scalar>
ModelPass<Scalar>::ModelPass(const Parameters<Scalar>& parameters)
    : parameters_(parameters), config_(parameters.config()), two_stacks_(config_.architecture == Architecture::EncoderDecoder),
      weights_(weights_of(parameters)) {
    for (auto* all : {&activations_, &dactivations_}) {
        all->main.layers.resize(weights_.main.layers.size());
        all->encoder.layers.resize(weights_.encoder.layers.size());
    }
}

template <class Scalar>
void ModelPass<Scalar>::build_masks() {
    MaskKey& key = next_mask_key_;
    key.settings = settings_.masks;
    key.mistake = settings_.mistake;
    key.lengths = tokens_.lengths;
    key.source_lengths = source_.lengths;
    key.length = tokens_.length;
    key.source_length = source_.length;
    if (mask_ != nullptr && key == mask_key_) return;
    mask_key_.length = -1;  // until all have been built
    build_mask(key.settings, key.lengths, key.length, own(mask_), key.mistake);
    if (two_stacks_) {
        build_cross_mask(key.settings, key.source_lengths, key.source_length, key.source_length, own(encoder_mask_), key.mistake);
        build_cross_mask(key.settings, key.source_lengths, key.length, key.source_length, own(cross_mask_), key.mistake);
    }
    mask_key_ = key;
}

template <class Scalar>
StackInputs<Scalar> ModelPass<Scalar>::main_inputs() {
    if (!two_stacks_) return {mask_, nullptr, nullptr, Stack::Main};
    return {mask_, &output_of(config_, false, activations_.encoder), cross_mask_, Stack::Decoder};
}

template <class Scalar>
void ModelPass<Scalar>::forward(const TokenBatch& tokens, const TokenBatch& source, const ForwardSettings& settings, Tap<Scalar>& tap,
                                std::int64_t first_sequence) {
    require_settings(settings);
    require_batch(config_, tokens, source);
    tokens_ = tokens;
    if (two_stacks_) source_ = source;
    settings_ = settings;
    settings_.dropout = applied_dropout(settings);
    first_sequence_ = first_sequence;
    build_masks();
    tap.begin_forward(settings_.edits);
    if (two_stacks_) {
        embed_tokens(source_, Stack::Encoder, tap, activations_.encoder);
        run_stack(context(tap), weights_.encoder, encoder_inputs(), activations_.encoder);
    }
    const StackInputs<Scalar> inputs = main_inputs();
    embed_tokens(tokens_, inputs.stack, tap, activations_.main);
    run_stack(context(tap), weights_.main, inputs, activations_.main);
    if (config_.lm_head) predict(inputs.stack, tap);
}

template <class Scalar>
void ModelPass<Scalar>::embed_tokens(const TokenBatch& tokens, Stack stack, Tap<Scalar>& tap, StackActivations<Scalar>& a) {
    const std::int64_t batches = tokens.size(), positions = tokens.length, width = config_.d_model;
    const Shape shape{{Axis::B, batches}, {Axis::T, positions}, {Axis::C, width}};
    a.tokens.resize({{Axis::B, batches}, {Axis::T, positions}});
    std::transform(tokens.ids.begin(), tokens.ids.end(), a.tokens.data(), [](std::int32_t id) { return static_cast<Scalar>(id); });
    tap({Stage::Tokens, -1, stack}, a.tokens);
    const StageId where{Stage::Embedding, -1, stack};
    const DropoutPattern pattern = embedding_dropout(where, tap, positions);
    a.embedding.resize(shape);
    const bool has_positions = config_.position != PositionKind::None;
    const bool adds = has_positions && settings_.mistake != Mistake::NoPositions;
    // With nobody to show them to, the two parts are not kept.
    Tensor<Scalar>& rows = tap.active() ? a.token_embedding : a.embedding;
    rows.resize(shape);
    embed<Scalar>(tokens.ids, weights_.token_embedding, width, rows.data());
    tap({Stage::TokenEmbedding, -1, stack}, rows);
    if (has_positions && tap.active()) {
        a.position_embedding.resize(shape);
        for (std::int64_t b = 0; b < batches; ++b) fill_positions(positions, a.position_embedding.data() + b * positions * width);
        tap({Stage::PositionEmbedding, -1, stack}, a.position_embedding);
    }
    if (adds && tap.active()) {
        add(a.token_embedding.data(), a.position_embedding.data(), a.embedding.size(), a.embedding.data());
    } else if (adds) {
        a.position_embedding.resize({{Axis::T, positions}, {Axis::C, width}});
        fill_positions(positions, a.position_embedding.data());
        for (std::int64_t b = 0; b < batches; ++b) {
            Scalar* one = a.embedding.data() + b * positions * width;
            add(one, a.position_embedding.data(), positions * width, one);
        }
    } else if (tap.active()) {
        std::copy(rows.values().begin(), rows.values().end(), a.embedding.data());
    }
    dropout(pattern, a.embedding.data(), a.embedding.size(), a.embedding.data());
    tap(where, a.embedding);
}

template <class Scalar>
DropoutPattern ModelPass<Scalar>::embedding_dropout(const StageId& where, Tap<Scalar>& tap, std::int64_t positions) const {
    return context(tap).dropout(settings_.dropout.embedding, where, positions * config_.d_model);
}

template <class Scalar>
void ModelPass<Scalar>::fill_positions(std::int64_t positions, Scalar* out) const {
    if (config_.position == PositionKind::Sinusoidal) sinusoidal_positions(positions, config_.d_model, out);
    else std::copy(weights_.position_embedding, weights_.position_embedding + positions * config_.d_model, out);
}

template <class Scalar>
void ModelPass<Scalar>::embed_tokens_backward(const TokenBatch& tokens, Stack stack, Tap<Scalar>& tap, StackActivations<Scalar>& g) {
    const StageId where{Stage::Embedding, -1, stack};
    tap(where, g.embedding);
    const DropoutPattern pattern = embedding_dropout(where, tap, tokens.length);
    const bool copies = tap.active() || pattern.rate() > 0;
    if (copies) {
        g.token_embedding.resize(g.embedding.shape());
        dropout(pattern, g.embedding.data(), g.embedding.size(), g.token_embedding.data());
    }
    const Scalar* drows = copies ? g.token_embedding.data() : g.embedding.data();
    const Scalar* dpositions = drows;
    if (tap.active() && config_.position != PositionKind::None) {
        g.position_embedding = g.token_embedding;
        if (settings_.mistake == Mistake::NoPositions)
            std::fill(g.position_embedding.values().begin(), g.position_embedding.values().end(), Scalar{0});
        tap({Stage::PositionEmbedding, -1, stack}, g.position_embedding);
        dpositions = g.position_embedding.data();
    }
    if (config_.position == PositionKind::Learned && settings_.mistake != Mistake::NoPositions)
        add_column_sums(dpositions, tokens.size(), tokens.length * config_.d_model, dweights_->position_embedding);
    if (tap.active()) tap({Stage::TokenEmbedding, -1, stack}, g.token_embedding);
    embed_backward<Scalar>(tokens.ids, drows, config_.d_model, dweights_->token_embedding);
}

template <class Scalar>
void ModelPass<Scalar>::predict(Stack stack, Tap<Scalar>& tap) {
    auto& a = activations_;
    const Tensor<Scalar>& x = output_of(config_, two_stacks_, a.main);
    const Shape& shape = x.shape();
    const std::int64_t rows = shape[0].size * shape[1].size, vocab = config_.vocab_size;
    a.logits.resize({shape[0], shape[1], {Axis::V, vocab}});
    if (config_.tied_lm_head) linear_tied(x.data(), rows, config_.d_model, vocab, weights_.token_embedding, a.logits.data());
    else linear<Scalar>(x.data(), rows, config_.d_model, vocab, weights_.lm_head, nullptr, a.logits.data());
    tap({Stage::Logits, -1, stack}, a.logits);
    if (!tap.active()) return;
    a.probabilities.resize(a.logits.shape());
    softmax(a.logits.data(), rows, vocab, a.probabilities.data());
    tap({Stage::Probabilities, -1, stack}, a.probabilities);
}

template <class Scalar>
CrossEntropy ModelPass<Scalar>::loss(std::span<const std::int32_t> targets, std::int64_t counted_in_all) {
    if (!config_.lm_head) throw ConfigError("a model without a head predicts nothing to compare with targets");
    if (targets.size() != tokens_.ids.size())
        throw ShapeError(std::to_string(targets.size()) + " targets for " + std::to_string(tokens_.ids.size()) + " tokens");
    targets_.assign(targets.begin(), targets.end());
    row_losses_.resize(targets.size());
    dactivations_.logits.resize(activations_.logits.shape());
    return cross_entropy<Scalar>(activations_.logits.data(), targets, config_.vocab_size, row_losses_, dactivations_.logits.data(),
                                 counted_in_all);
}

template <class Scalar>
void ModelPass<Scalar>::predict_backward(Stack stack, Tap<Scalar>& tap) {
    auto &a = activations_, &g = dactivations_;
    if (tap.active()) {
        // The loss is -log p[target], averaged.
        g.probabilities = Tensor<Scalar>(g.logits.shape());
        const std::int64_t counted = std::count_if(targets_.begin(), targets_.end(), [](std::int32_t t) { return t != kIgnoredTarget; });
        for (std::size_t row = 0; row < targets_.size(); ++row) {
            if (targets_[row] == kIgnoredTarget) continue;
            const std::int64_t cell = static_cast<std::int64_t>(row) * config_.vocab_size + targets_[row];
            g.probabilities.data()[cell] = Scalar{-1} / (static_cast<Scalar>(counted) * a.probabilities.data()[cell]);
        }
        tap({Stage::Probabilities, -1, stack}, g.probabilities);
    }
    tap({Stage::Logits, -1, stack}, g.logits);
    const Tensor<Scalar>& x = output_of(config_, two_stacks_, a.main);
    Tensor<Scalar>& dx = output_of(config_, two_stacks_, g.main);
    const std::int64_t rows = x.shape()[0].size * x.shape()[1].size, vocab = config_.vocab_size;
    dx.resize(x.shape());
    if (config_.tied_lm_head)
        linear_tied_backward(g.logits.data(), x.data(), rows, config_.d_model, vocab, weights_.token_embedding, dx.data(),
                             dweights_->token_embedding);
    else
        linear_backward<Scalar>(g.logits.data(), x.data(), rows, config_.d_model, vocab, weights_.lm_head, dx.data(), dweights_->lm_head,
                                nullptr, {.replaces = fresh_});
}

template <class Scalar>
void ModelPass<Scalar>::backward(Tap<Scalar>& tap) {
    if (gradients_ == nullptr) gradients_ = std::make_unique<Gradients<Scalar>>(config_);
    backward(tap, *gradients_, true);
}

template <class Scalar>
void ModelPass<Scalar>::backward(Tap<Scalar>& tap, Gradients<Scalar>& into, bool fresh) {
    dweights_ = &into.weights;
    fresh_ = fresh;
    if (fresh)
        for (const std::span<Scalar>& sum : into.sums) std::fill(sum.begin(), sum.end(), Scalar{0});
    tap.begin_backward(settings_.edits);
    const StackInputs<Scalar> inputs = main_inputs();
    predict_backward(inputs.stack, tap);
    Tensor<Scalar>* dmemory = nullptr;
    if (two_stacks_) {
        dmemory = &output_of(config_, false, dactivations_.encoder);
        dmemory->resize(inputs.memory->shape());
        std::fill(dmemory->values().begin(), dmemory->values().end(), Scalar{0});
    }
    run_stack_backward<Scalar>(context(tap), {weights_.main, dweights_->main}, inputs, activations_.main, dactivations_.main, dmemory);
    embed_tokens_backward(tokens_, inputs.stack, tap, dactivations_.main);
    if (!two_stacks_) return;
    run_stack_backward<Scalar>(context(tap), {weights_.encoder, dweights_->encoder}, encoder_inputs(), activations_.encoder,
                               dactivations_.encoder, nullptr);
    embed_tokens_backward(source_, Stack::Encoder, tap, dactivations_.encoder);
}

template struct Gradients<float>;
template struct Gradients<double>;
template class ModelPass<float>;
template class ModelPass<double>;

}  // namespace attn
