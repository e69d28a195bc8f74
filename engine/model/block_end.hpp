#pragma once
/// What blocks of both kinds share: the norm before them, and the residual and norm that they end with.

#include "engine/model/blocks.hpp"

namespace attn {

/// Normalises x [B,T,C] into `activations` and taps it as `where`.
template <class Scalar>
void norm_layer(const PassContext<Scalar>& context, const NormWeights<const Scalar>& weights, const Tensor<Scalar>& x, const StageId& where,
                NormActivations<Scalar>& activations);

/// Gradients of norm_layer(): from gradients.out those of the parameters (+=) and of x, dx = it + plus (if not null).
template <class Scalar>
void norm_layer_backward(const PassContext<Scalar>& context, const WeightsAndGradients<NormWeights, Scalar>& weights,
                         const Tensor<Scalar>& x, const NormActivations<Scalar>& activations, const NormActivations<Scalar>& gradients,
                         const Tensor<Scalar>* plus, Tensor<Scalar>& dx);

/// A block's last tensors, values or gradients, and the names of their stages.
template <class Scalar, class TensorRef, class NormRef>
struct BlockEnd {
    TensorRef& out;       ///< what the block computed
    TensorRef& residual;  ///< x + dropout(out)
    NormRef& norm;        ///< of a post-norm model
};
struct BlockEndStages {
    StageId out, residual, norm;
};
template <class Scalar>
using BlockEndValues = BlockEnd<Scalar, Tensor<Scalar>, NormActivations<Scalar>>;
template <class Scalar>
using ConstBlockEndValues = BlockEnd<Scalar, const Tensor<Scalar>, const NormActivations<Scalar>>;

/// Whether a block's result is added to the residual stream, instead of taking its place.
template <class Scalar>
bool adds_to_stream(const PassContext<Scalar>& context);

/// True when nothing lies between a block's last projection and the residual: the block then writes x + out into `residual` itself, and
/// leaves `out` empty.
template <class Scalar>
bool adds_directly(const PassContext<Scalar>& context);

/// Ends a block: the residual x + dropout(out), then the norm of a post-norm model. Residual dropout belongs to the addition: a
/// model without residuals has none.
template <class Scalar>
void end_block(const PassContext<Scalar>& context, const NormWeights<const Scalar>& weights, const Tensor<Scalar>& x,
               const BlockEndStages& stages, const BlockEndValues<Scalar>& end);

/// The tensors that hold two gradients of a block's end; they are one where nothing lies between.
template <class Scalar>
struct BlockEndGradients {
    Tensor<Scalar>* dsum;  ///< of x + dropout(out), or of out without a residual
    Tensor<Scalar>* dout;  ///< of out
};
template <class Scalar>
BlockEndGradients<Scalar> end_block_backward(const PassContext<Scalar>& context, const WeightsAndGradients<NormWeights, Scalar>& weights,
                                             const BlockEndStages& stages, const ConstBlockEndValues<Scalar>& end,
                                             const BlockEndValues<Scalar>& gradients);

}  // namespace attn
