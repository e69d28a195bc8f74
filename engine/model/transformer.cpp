#include "engine/model/transformer.hpp"

#include <algorithm>
#include <string>

#include "engine/attention/position.hpp"
#include "engine/model/blocks.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/elementwise.hpp"
#include "engine/ops/embedding.hpp"
#include "engine/ops/linear.hpp"
#include "engine/ops/softmax.hpp"

namespace attn {
namespace {

void require_batch(const TokenBatch& batch, const Config& config, const char* what) {
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

void require_settings(const ForwardSettings& settings) {
    if (!(settings.temperature > 0))
        throw ConfigError("the temperature is " + std::to_string(settings.temperature) + ": it has to be above 0");
    for (const double rate : {settings.dropout.attention, settings.dropout.residual, settings.dropout.embedding})
        if (!(rate >= 0 && rate <= 1)) throw ConfigError("the dropout rate is " + std::to_string(rate) + ": 0 to 1 is possible");
}

/// One forward pass over a model.
template <class Scalar>
class ForwardPass {
public:
    ForwardPass(const Parameters<Scalar>& parameters, const ForwardSettings& settings, Tap<Scalar>& tap, Activations<Scalar>& activations)
        : config_(parameters.config()), weights_(weights_of(parameters)), context_{config_, settings, tap}, a_(activations) {}

    void run(const TokenBatch& tokens, const TokenBatch& source) {
        const MaskSettings& masks = context_.settings.masks;
        a_.mask = std::make_shared<const Mask>(build_mask(masks, tokens.lengths, tokens.length));
        Stack stack = Stack::Main;
        const Tensor<Scalar>* memory = nullptr;
        if (config_.architecture == Architecture::EncoderDecoder) {
            stack = Stack::Decoder;
            a_.encoder_mask = std::make_shared<const Mask>(build_source_mask(masks, source.lengths, source.length));
            a_.cross_mask = std::make_shared<const Mask>(build_cross_mask(masks, source.lengths, tokens.length, source.length));
            memory = &run_stack(weights_.encoder, source, nullptr, a_.encoder_mask, Stack::Encoder, a_.encoder);
        }
        Tensor<Scalar>& x = run_stack(weights_.main, tokens, memory, a_.mask, stack, a_.main);
        if (config_.lm_head) predict(x, stack);
    }

private:
    Tensor<Scalar>& run_stack(const StackWeights<const Scalar>& weights, const TokenBatch& tokens, const Tensor<Scalar>* memory,
                              const std::shared_ptr<const Mask>& mask, Stack stack, StackActivations<Scalar>& a) {
        Tensor<Scalar>* x = &embed_tokens(tokens, stack, a);
        a.layers.resize(weights.layers.size());
        for (std::size_t i = 0; i < weights.layers.size(); ++i) {
            const StageId where{Stage::Tokens, static_cast<int>(i), stack};
            LayerActivations<Scalar>& layer = a.layers[i];
            x = &self_attention_block(context_, weights.layers[i].self, *x, mask, where, layer.self);
            if (memory != nullptr)
                x = &cross_attention_block(context_, weights.layers[i].cross, *x, *memory, a_.cross_mask, where, layer.cross);
            if (config_.feed_forward) x = &feed_forward_block(context_, weights.layers[i].feed_forward, *x, where, layer.feed_forward);
        }
        if (!config_.final_norm) return *x;
        return norm_layer(context_, weights.final_norm, *x, {Stage::FinalNorm, -1, stack}, a.final_norm);
    }

    Tensor<Scalar>& embed_tokens(const TokenBatch& tokens, Stack stack, StackActivations<Scalar>& a) {
        const std::int64_t batches = tokens.size(), positions = tokens.length, width = config_.d_model;
        const Shape shape{{Axis::B, batches}, {Axis::T, positions}, {Axis::C, width}};
        a.tokens.resize({{Axis::B, batches}, {Axis::T, positions}});
        std::transform(tokens.ids.begin(), tokens.ids.end(), a.tokens.data(), [](std::int32_t id) { return static_cast<Scalar>(id); });
        context_.tap({Stage::Tokens, -1, stack}, a.tokens);
        a.token_embedding.resize(shape);
        embed<Scalar>(tokens.ids, weights_.token_embedding, width, a.token_embedding.data());
        context_.tap({Stage::TokenEmbedding, -1, stack}, a.token_embedding);

        a.embedding.resize(shape);
        if (config_.position == PositionKind::None) {
            std::copy(a.token_embedding.values().begin(), a.token_embedding.values().end(), a.embedding.data());
        } else {
            a.position_embedding.resize(shape);
            fill_positions(batches, positions, a.position_embedding.data());
            context_.tap({Stage::PositionEmbedding, -1, stack}, a.position_embedding);
            add(a.token_embedding.data(), a.position_embedding.data(), a.embedding.size(), a.embedding.data());
        }
        const StageId where{Stage::Embedding, -1, stack};
        const DropoutSettings& settings = context_.settings.dropout;
        dropout(DropoutPattern(settings.embedding, settings.seed, where), a.embedding.data(), a.embedding.size(), a.embedding.data());
        context_.tap(where, a.embedding);
        return a.embedding;
    }

    /// The same positions for every sequence.
    void fill_positions(std::int64_t batches, std::int64_t positions, Scalar* out) const {
        const std::int64_t one = positions * config_.d_model;
        if (batches == 0) return;
        if (config_.position == PositionKind::Sinusoidal)
            sinusoidal_positions(positions, config_.d_model, out);
        else
            std::copy(weights_.position_embedding, weights_.position_embedding + one, out);
        for (std::int64_t b = 1; b < batches; ++b) std::copy(out, out + one, out + b * one);
    }

    void predict(const Tensor<Scalar>& x, Stack stack) {
        const Shape& shape = x.shape();
        const std::int64_t rows = shape[0].size * shape[1].size, vocab = config_.vocab_size;
        a_.logits.resize({shape[0], shape[1], {Axis::V, vocab}});
        if (config_.tied_lm_head)
            linear_tied(x.data(), rows, config_.d_model, vocab, weights_.token_embedding, a_.logits.data());
        else
            linear<Scalar>(x.data(), rows, config_.d_model, vocab, weights_.lm_head, nullptr, a_.logits.data());
        context_.tap({Stage::Logits, -1, stack}, a_.logits);
        a_.probabilities.resize(a_.logits.shape());
        softmax(a_.logits.data(), rows, vocab, a_.probabilities.data());
        context_.tap({Stage::Probabilities, -1, stack}, a_.probabilities);
    }

    const Config& config_;
    ModelWeights<const Scalar> weights_;
    ForwardContext<Scalar> context_;
    Activations<Scalar>& a_;
};

}  // namespace

template <class Scalar>
Trace<Scalar> trace_forward(std::shared_ptr<const Parameters<Scalar>> parameters, const TokenBatch& tokens, const TokenBatch& source,
                            const ForwardSettings& settings, std::stop_token stop) {
    const Config& config = parameters->config();
    const bool two_stacks = config.architecture == Architecture::EncoderDecoder;
    require_settings(settings);
    require_batch(tokens, config, "the text");
    if (two_stacks) {
        require_batch(source, config, "the source text");
        if (source.size() != tokens.size())
            throw ShapeError(std::to_string(source.size()) + " source texts for " + std::to_string(tokens.size()) + " texts");
    }
    Activations<Scalar> activations;
    Tap<Scalar> tap(true, std::move(stop));
    ForwardPass<Scalar>(*parameters, settings, tap, activations).run(tokens, source);

    Trace<Scalar> trace;
    trace.config = config;
    trace.settings = settings;
    trace.tokens = tokens;
    if (two_stacks) trace.source_tokens = source;
    trace.parameters = std::move(parameters);
    trace.stages = tap.take();
    return trace;
}

template Trace<float> trace_forward<float>(std::shared_ptr<const Parameters<float>>, const TokenBatch&, const TokenBatch&,
                                           const ForwardSettings&, std::stop_token);
template Trace<double> trace_forward<double>(std::shared_ptr<const Parameters<double>>, const TokenBatch&, const TokenBatch&,
                                             const ForwardSettings&, std::stop_token);

}  // namespace attn
