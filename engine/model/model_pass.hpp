#pragma once
/// Forward and backward passes of a whole model, in memory that is kept from pass to pass.

#include <memory>
#include <span>
#include <vector>

#include "engine/model/program.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/tensor/token_batch.hpp"

namespace attn {

/// Throws ConfigError for a temperature that is not above 0, a dropout rate outside [0, 1], or an edit that require_edit() rejects.
void require_settings(const ForwardSettings& settings);
/// Throws ShapeError for inconsistent sizes, ConfigError for a batch longer than the context, Error for an id outside the vocabulary.
/// `source` is read for an encoder-decoder only.
void require_batch(const Config& config, const TokenBatch& tokens, const TokenBatch& source);

/// Passes over one model. Allocates only if a batch is larger than all previous ones or if lengths, masks or mistake change.
template <class Scalar>
class ModelPass {
public:
    /// `parameters` is read at every pass and must outlive this. Use Keep::Everything if backward() is to be called.
    explicit ModelPass(const Parameters<Scalar>& parameters, Keep keep = Keep::Everything);

    /// Takes weights from `packed` from now on. It must belong to the same parameters, hold their current values at every pass, and outlive
    /// this.
    void use(const PackedWeights<Scalar>& packed);

    /// Computes all stages of the batch; see require_settings() and require_batch(). While the tap is active every stage has a tensor of
    /// its own. `first_sequence` is where the batch begins if it is part of a larger one.
    void forward(const TokenBatch& tokens, const TokenBatch& source, const ForwardSettings& settings, Tap<Scalar>& tap,
                 std::int64_t first_sequence = 0);
    /// [B,T,V] after forward(); empty for a model without a head.
    const Tensor<Scalar>& logits();

    /// Mean cross-entropy of the logits; must be called before backward().
    ///   targets [B,T], kIgnoredTarget where nothing is to be predicted
    /// For a part of a batch it is the part's share of the mean over counted_in_all counted targets.
    CrossEntropy loss(std::span<const std::int32_t> targets, std::int64_t counted_in_all = 0);
    /// Gradients of everything, after forward() and loss() with the same batch and settings. The tap must be active if and only if it was
    /// then. Parameter gradients are added to `into`, or replace its contents if `fresh`.
    void backward(Tap<Scalar>& tap, Gradients<Scalar>& into, bool fresh);
    /// The same with gradients owned by this object, which are replaced.
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
    std::unique_ptr<Program<Scalar>> staged_, fused_;  ///< created by the first pass that needs them
    Program<Scalar>* program_ = nullptr;               ///< used by the last pass
    std::size_t logits_ = 0;                           ///< index of their node
    Tensor<Scalar> nothing_;

    std::unique_ptr<Gradients<Scalar>> gradients_;  ///< created by the first backward pass into them
    TokenBatch tokens_, source_;
    ForwardSettings settings_;
    MaskBuilder mask_builder_;
    const PassMasks* masks_ = nullptr;  ///< of the last pass
    std::int64_t first_sequence_ = 0;
    std::vector<std::int32_t> targets_;
    std::vector<RowLoss> row_losses_;
};

}  // namespace attn
