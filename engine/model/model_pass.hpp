#pragma once
/// Forward and backward pass of a whole model, with memory that is kept from pass to pass.

#include <memory>
#include <span>
#include <vector>

#include "engine/model/batch.hpp"
#include "engine/model/packed_weights.hpp"
#include "engine/model/stack.hpp"
#include "engine/ops/cross_entropy.hpp"

namespace attn {

/// Throws ConfigError for a temperature that is not above 0, a dropout rate outside [0, 1] or an edit that require_edit() refuses.
void require_settings(const ForwardSettings& settings);
/// Throws ShapeError for sizes that disagree, ConfigError for a batch longer than the context, Error for an id outside the vocabulary.
/// `source` matters for an encoder-decoder only.
void require_batch(const Config& config, const TokenBatch& tokens, const TokenBatch& source);

/// Gradients of all parameters and where to find them.
template <class Scalar>
struct Gradients {
    explicit Gradients(const Config& config);
    Gradients(const Gradients&) = delete;
    Gradients& operator=(const Gradients&) = delete;
    Parameters<Scalar> values;
    ModelWeights<Scalar> weights;  ///< in `values`
    /// Those that a pass only adds to and that have to be 0 before it: all but the linear weights, which get one product each.
    std::vector<std::span<Scalar>> sums;
};

/// Passes over one model. Allocates only when a batch is larger than all before, or its lengths or masks change.
template <class Scalar>
class ModelPass {
public:
    /// Reads `parameters` at every pass; they have to outlive this.
    explicit ModelPass(const Parameters<Scalar>& parameters);

    /// Takes the weights from `packed` from now on, which is of the same parameters, holds their values whenever a pass runs, and outlives
    /// this.
    void use(const PackedWeights<Scalar>& packed) { packed.attach(weights_); }

    /// All stages of the batch, as the functions above require it. While the tap is active, every stage is a tensor of its own.
    /// `first_sequence` says where the batch begins in a larger one of which it is a part.
    void forward(const TokenBatch& tokens, const TokenBatch& source, const ForwardSettings& settings, Tap<Scalar>& tap,
                 std::int64_t first_sequence = 0);
    /// [B,T,V] after forward(); empty without a head.
    const Tensor<Scalar>& logits() const { return activations_.logits; }

    /// Mean cross-entropy of the logits, whose gradient starts backward().
    ///   targets [B,T], kIgnoredTarget where nothing is to be predicted
    /// Of a part of a batch it is the share in the mean over the `counted_in_all` targets that count.
    CrossEntropy loss(std::span<const std::int32_t> targets, std::int64_t counted_in_all = 0);
    /// Gradients of everything after forward() and loss(), of the same batch and settings. The tap has to be as active as it was then.
    /// The parameters' gradients are added to what is in `into`, or replace it with `fresh`.
    void backward(Tap<Scalar>& tap, Gradients<Scalar>& into, bool fresh);
    /// The same with gradients that are this object's own and replaced.
    void backward(Tap<Scalar>& tap);
    const Parameters<Scalar>& gradients() const { return gradients_->values; }

private:
    void build_masks();
    PassContext<Scalar> context(Tap<Scalar>& tap) const { return {config_, settings_, tap, first_sequence_, fresh_}; }
    DropoutPattern embedding_dropout(const StageId& where, Tap<Scalar>& tap, std::int64_t positions) const;
    void embed_tokens(const TokenBatch& tokens, Stack stack, Tap<Scalar>& tap, StackActivations<Scalar>& a);
    void fill_positions(std::int64_t positions, Scalar* out) const;
    void predict(Stack stack, Tap<Scalar>& tap);
    void predict_backward(Stack stack, Tap<Scalar>& tap);
    void embed_tokens_backward(const TokenBatch& tokens, Stack stack, Tap<Scalar>& tap, StackActivations<Scalar>& g);
    StackInputs<Scalar> main_inputs();
    StackInputs<Scalar> encoder_inputs() const { return {encoder_mask_, nullptr, nullptr, Stack::Encoder}; }

    const Parameters<Scalar>& parameters_;
    const Config& config_;
    bool two_stacks_;
    ModelWeights<const Scalar> weights_;
    std::unique_ptr<Gradients<Scalar>> gradients_;    ///< since the first backward pass into them
    const ModelWeights<Scalar>* dweights_ = nullptr;  ///< where the backward pass under way adds
    bool fresh_ = false;                              ///< or replaces what is there
    struct {
        StackActivations<Scalar> encoder, main;
        Tensor<Scalar> logits, probabilities;  ///< [B,T,V]
    } activations_, dactivations_;
    TokenBatch tokens_, source_;
    ForwardSettings settings_;
    std::int64_t first_sequence_ = 0;
    std::vector<std::int32_t> targets_;
    std::vector<RowLoss> row_losses_;
    std::shared_ptr<Mask> encoder_mask_, mask_, cross_mask_;
    struct MaskKey {  ///< what the masks were built from
        MaskSettings settings;
        Mistake mistake = Mistake::None;
        std::vector<std::int64_t> lengths, source_lengths;
        std::int64_t length = -1, source_length = -1;
        bool operator==(const MaskKey&) const = default;
    } mask_key_, next_mask_key_;
};

}  // namespace attn
