#pragma once
/// Forward and backward pass of a whole model, with memory that is kept from pass to pass.

#include <memory>
#include <span>
#include <vector>

#include "engine/model/program.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/tensor/token_batch.hpp"

namespace attn {

/// Throws ConfigError for a temperature that is not above 0, a dropout rate outside [0, 1] or an edit that require_edit() refuses.
void require_settings(const ForwardSettings& settings);
/// Throws ShapeError for sizes that disagree, ConfigError for a batch longer than the context, Error for an id outside the vocabulary.
/// `source` matters for an encoder-decoder only.
void require_batch(const Config& config, const TokenBatch& tokens, const TokenBatch& source);

/// Passes over one model. Allocates only when a batch is larger than all before, or its lengths, masks or mistakes change.
template <class Scalar>
class ModelPass {
public:
    /// Reads `parameters` at every pass; they have to outlive this. A pass that is to go back keeps everything.
    explicit ModelPass(const Parameters<Scalar>& parameters, Keep keep = Keep::Everything);

    /// Takes the weights from `packed` from now on, which is of the same parameters, holds their values whenever a pass runs, and outlives
    /// this.
    void use(const PackedWeights<Scalar>& packed);

    /// All stages of the batch, as the functions above require it. While the tap is active, every stage is a tensor of its own.
    /// `first_sequence` says where the batch begins in a larger one of which it is a part.
    void forward(const TokenBatch& tokens, const TokenBatch& source, const ForwardSettings& settings, Tap<Scalar>& tap,
                 std::int64_t first_sequence = 0);
    /// [B,T,V] after forward(); empty without a head.
    const Tensor<Scalar>& logits();

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
    void make_plan(Mistake mistake);
    Program<Scalar>& program_for(bool shown);
    void begin_probabilities();

    const Weights weights_;
    const Config& config_ = weights_.config();
    Keep keep_;
    const PackedWeights<Scalar>* packed_ = nullptr;
    Mistake mistake_ = Mistake::None;
    Plan plan_;
    bool can_fuse_ = false;
    std::unique_ptr<Program<Scalar>> staged_, fused_;  ///< since the first pass that needs them
    Program<Scalar>* program_ = nullptr;               ///< of the last pass
    std::size_t logits_ = 0;                           ///< their place
    Tensor<Scalar> nothing_;

    std::unique_ptr<Gradients<Scalar>> gradients_;  ///< since the first backward pass into them
    TokenBatch tokens_, source_;
    ForwardSettings settings_;
    MaskBuilder mask_builder_;
    const PassMasks* masks_ = nullptr;  ///< of the last pass
    std::int64_t first_sequence_ = 0;
    std::vector<std::int32_t> targets_;
    std::vector<RowLoss> row_losses_;
};

}  // namespace attn
