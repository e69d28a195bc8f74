#include "engine/model/blocks.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/elementwise.hpp"
#include "engine/ops/layer_norm.hpp"

namespace attn {

template <class Scalar>
Tensor<Scalar>& norm_layer(const ForwardContext<Scalar>& context, const NormWeights<const Scalar>& weights, const Tensor<Scalar>& x,
                           const StageId& where, NormActivations<Scalar>& activations) {
    const Shape& shape = x.shape();
    const std::int64_t rows = shape[0].size * shape[1].size;
    activations.out.resize(shape);
    activations.mean.resize({shape[0], shape[1]});
    activations.rstd.resize({shape[0], shape[1]});
    layer_norm(x.data(), rows, shape[2].size, weights.gain, weights.bias, context.config.layer_norm_eps, activations.out.data(),
               activations.mean.data(), activations.rstd.data());
    context.tap(where, activations.out);
    return activations.out;
}

template <class Scalar>
Tensor<Scalar>& end_block(const ForwardContext<Scalar>& context, const Tensor<Scalar>& x, Tensor<Scalar>& out,
                          const BlockEnd<Scalar>& end) {
    const Config& config = context.config;
    Tensor<Scalar>* result = &out;
    if (config.residual) {
        const DropoutSettings& settings = context.settings.dropout;
        const DropoutPattern pattern(settings.residual, settings.seed, end.dropped_stage);
        end.residual.resize(x.shape());
        const Scalar* added = out.data();
        if (pattern.rate() > 0) {
            // The recorded output stays what W_O gave; what is added to the stream is its dropped copy.
            dropout(pattern, out.data(), out.size(), end.residual.data());
            added = end.residual.data();
        }
        add(x.data(), added, x.size(), end.residual.data());
        context.tap(end.residual_stage, end.residual);
        result = &end.residual;
    }
    if (config.norm == NormPlacement::Post) return norm_layer(context, end.weights, *result, end.norm_stage, end.norm);
    return *result;
}

template Tensor<float>& norm_layer<float>(const ForwardContext<float>&, const NormWeights<const float>&, const Tensor<float>&,
                                          const StageId&, NormActivations<float>&);
template Tensor<double>& norm_layer<double>(const ForwardContext<double>&, const NormWeights<const double>&, const Tensor<double>&,
                                            const StageId&, NormActivations<double>&);
template Tensor<float>& end_block<float>(const ForwardContext<float>&, const Tensor<float>&, Tensor<float>&, const BlockEnd<float>&);
template Tensor<double>& end_block<double>(const ForwardContext<double>&, const Tensor<double>&, Tensor<double>&, const BlockEnd<double>&);

}  // namespace attn
