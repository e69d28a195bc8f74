#include "engine/model/block_end.hpp"

#include <algorithm>

#include "engine/ops/elementwise.hpp"
#include "engine/ops/layer_norm.hpp"

namespace attn {
namespace {

template <class Scalar>
DropoutPattern residual_dropout(const PassContext<Scalar>& context, const StageId& out, const Shape& shape) {
    return context.dropout(context.settings.dropout.residual, out, shape[1].size * shape[2].size);
}

}  // namespace

template <class Scalar>
void norm_layer(const PassContext<Scalar>& context, const NormWeights<const Scalar>& weights, const Tensor<Scalar>& x, const StageId& where,
                NormActivations<Scalar>& activations) {
    const Shape& shape = x.shape();
    activations.out.resize(shape);
    activations.mean.resize({shape[0], shape[1]});
    activations.rstd.resize({shape[0], shape[1]});
    if (context.settings.mistake == Mistake::MissingNorm) {
        std::copy(x.values().begin(), x.values().end(), activations.out.data());
        context.tap(where, activations.out);
        return;
    }
    layer_norm(x.data(), shape[0].size * shape[1].size, shape[2].size, weights.gain, weights.bias, context.config.layer_norm_eps,
               activations.out.data(), activations.mean.data(), activations.rstd.data());
    context.tap(where, activations.out);
}

template <class Scalar>
void norm_layer_backward(const PassContext<Scalar>& context, const WeightsAndGradients<NormWeights, Scalar>& weights,
                         const Tensor<Scalar>& x, const NormActivations<Scalar>& activations, const NormActivations<Scalar>& gradients,
                         const Tensor<Scalar>* plus, Tensor<Scalar>& dx) {
    const Shape& shape = x.shape();
    dx.resize(shape);
    if (context.settings.mistake == Mistake::MissingNorm) {
        if (plus != nullptr) add(gradients.out.data(), plus->data(), dx.size(), dx.data());
        else std::copy(gradients.out.values().begin(), gradients.out.values().end(), dx.data());
        return;
    }
    layer_norm_backward<Scalar>(gradients.out.data(), x.data(), shape[0].size * shape[1].size, shape[2].size, weights.weights.gain,
                                activations.mean.data(), activations.rstd.data(),
                                {dx.data(), weights.gradients.gain, weights.gradients.bias, plus == nullptr ? nullptr : plus->data()});
}

template <class Scalar>
bool adds_to_stream(const PassContext<Scalar>& context) {
    return context.config.residual && context.settings.mistake != Mistake::NoResidual;
}

template <class Scalar>
bool adds_directly(const PassContext<Scalar>& context) {
    return adds_to_stream(context) && context.settings.dropout.residual == 0 && !context.tap.active();
}

template <class Scalar>
void end_block(const PassContext<Scalar>& context, const NormWeights<const Scalar>& weights, const Tensor<Scalar>& x,
               const BlockEndStages& stages, const BlockEndValues<Scalar>& end) {
    const Config& config = context.config;
    if (config.residual && !adds_directly(context)) {
        const DropoutPattern pattern = residual_dropout(context, stages.out, x.shape());
        end.residual.resize(x.shape());
        const Scalar* added = end.out.data();
        if (pattern.rate() > 0) {
            // The recorded output stays what the block gave; what is added to the stream is its dropped copy.
            dropout(pattern, end.out.data(), end.out.size(), end.residual.data());
            added = end.residual.data();
        }
        if (adds_to_stream(context)) add(x.data(), added, x.size(), end.residual.data());
        else if (added != end.residual.data()) std::copy(added, added + x.size(), end.residual.data());
        context.tap(stages.residual, end.residual);
    }
    if (config.norm == NormPlacement::Post) norm_layer(context, weights, config.residual ? end.residual : end.out, stages.norm, end.norm);
}

template <class Scalar>
BlockEndGradients<Scalar> end_block_backward(const PassContext<Scalar>& context, const WeightsAndGradients<NormWeights, Scalar>& weights,
                                             const BlockEndStages& stages, const ConstBlockEndValues<Scalar>& end,
                                             const BlockEndValues<Scalar>& gradients) {
    const Config& config = context.config;
    Tensor<Scalar>& dsum = config.residual ? gradients.residual : gradients.out;
    if (config.norm == NormPlacement::Post) {
        context.tap(stages.norm, gradients.norm.out);
        norm_layer_backward<Scalar>(context, weights, config.residual ? end.residual : end.out, end.norm, gradients.norm, nullptr, dsum);
    }
    if (!config.residual) return {&dsum, &dsum};
    context.tap(stages.residual, dsum);
    if (adds_directly(context)) return {&dsum, &dsum};
    const DropoutPattern pattern = residual_dropout(context, stages.out, dsum.shape());
    gradients.out.resize(dsum.shape());
    dropout(pattern, dsum.data(), dsum.size(), gradients.out.data());
    return {&dsum, &gradients.out};
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template bool adds_directly<Scalar>(const PassContext<Scalar>&);                                                                       \
    template void norm_layer<Scalar>(const PassContext<Scalar>&, const NormWeights<const Scalar>&, const Tensor<Scalar>&, const StageId&,  \
                                     NormActivations<Scalar>&);                                                                            \
    template bool adds_to_stream<Scalar>(const PassContext<Scalar>&);                                                                      \
    template void norm_layer_backward<Scalar>(const PassContext<Scalar>&, const WeightsAndGradients<NormWeights, Scalar>&,                 \
                                              const Tensor<Scalar>&, const NormActivations<Scalar>&, const NormActivations<Scalar>&,       \
                                              const Tensor<Scalar>*, Tensor<Scalar>&);                                                     \
    template void end_block<Scalar>(const PassContext<Scalar>&, const NormWeights<const Scalar>&, const Tensor<Scalar>&,                   \
                                    const BlockEndStages&, const BlockEndValues<Scalar>&);                                                 \
    template BlockEndGradients<Scalar> end_block_backward<Scalar>(const PassContext<Scalar>&,                                              \
                                                                  const WeightsAndGradients<NormWeights, Scalar>&, const BlockEndStages&,  \
                                                                  const ConstBlockEndValues<Scalar>&, const BlockEndValues<Scalar>&);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
