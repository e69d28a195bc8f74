#include <algorithm>

#include "engine/model/block_end.hpp"
#include "engine/ops/activation.hpp"
#include "engine/ops/elementwise.hpp"
#include "engine/ops/linear.hpp"
#include "engine/ops/parallel.hpp"

namespace attn {
namespace {

StageId at(const StageId& where, Stage stage) { return {stage, where.layer, where.stack}; }

BlockEndStages end_stages(const StageId& where) { return {at(where, Stage::FfnOut), at(where, Stage::Residual2), at(where, Stage::Norm2)}; }

/// The block's products and its activation over some of the rows.
template <class Scalar>
struct RowsOfBlock {
    const Config& config;
    const FeedForwardWeights<const Scalar>& weights;
    const Scalar *in, *plus;
    Scalar *hidden, *activation, *out;

    void widen(std::int64_t first, std::int64_t rows) const {
        linear<Scalar>(in + first * config.d_model, rows, config.d_model, config.d_ff, weights.in.weight, weights.in.bias,
                       hidden + first * config.d_ff, nullptr, weights.in.packed);
    }
    void narrow(std::int64_t first, std::int64_t rows) const {
        linear<Scalar>(activation + first * config.d_ff, rows, config.d_ff, config.d_model, weights.out.weight, weights.out.bias,
                       out + first * config.d_model, plus == nullptr ? nullptr : plus + first * config.d_model, weights.out.packed);
    }

    /// So many that what is between the products stays in the cache; but where the weights do not stay there either, they have to be read
    /// again for each lot, and it takes so many rows to make that cheap.
    std::int64_t rows_at_once(std::int64_t rows) const {
        constexpr std::int64_t kNumbers = 100'000, kGrain = 48, kManyRows = 256, kWeights = 200'000;
        if (weights.in.packed == nullptr) return rows;
        if (config.d_model * config.d_ff > kWeights) return kManyRows;
        return std::max<std::int64_t>(1, kNumbers / config.d_ff / kGrain) * kGrain;
    }

    /// Some rows at a time through all of it. With nobody to show it to, `hidden` matters to the backward pass alone.
    void run(std::int64_t rows) const {
        const std::int64_t at_once = rows_at_once(rows);
        const std::int64_t parts = (rows + at_once - 1) / std::max<std::int64_t>(1, at_once);
        parallel_for(parts, at_once * config.d_ff * config.d_model / 16, [&](std::int64_t part) {
            const std::int64_t first = part * at_once, here = std::min(at_once, rows - first);
            widen(first, here);
            activate_once(config.activation, hidden + first * config.d_ff, here * config.d_ff, activation + first * config.d_ff);
            narrow(first, here);
        });
    }
};

}  // namespace

template <class Scalar>
Tensor<Scalar>& output_of(const Config& config, FeedForwardActivations<Scalar>& activations) {
    if (config.norm == NormPlacement::Post) return activations.norm.out;
    return config.residual ? activations.residual : activations.out;
}

template <class Scalar>
void feed_forward_block(const PassContext<Scalar>& context, const FeedForwardWeights<const Scalar>& weights, const Tensor<Scalar>& x,
                        const StageId& where, FeedForwardActivations<Scalar>& activations) {
    const Config& config = context.config;
    FeedForwardActivations<Scalar>& a = activations;
    const bool pre = config.norm == NormPlacement::Pre;
    if (pre) norm_layer(context, weights.norm, x, at(where, Stage::Norm2), a.norm);
    const Tensor<Scalar>& in = pre ? a.norm.out : x;
    const Shape& shape = in.shape();
    const std::int64_t rows = shape[0].size * shape[1].size;

    a.hidden.resize({shape[0], shape[1], {Axis::F, config.d_ff}});
    a.activation.resize(a.hidden.shape());
    const bool direct = adds_directly(context);
    Tensor<Scalar>& out = direct ? a.residual : a.out;
    out.resize({shape[0], shape[1], {Axis::C, config.d_model}});
    const RowsOfBlock<Scalar> block{config,    weights, in.data(), direct ? x.data() : nullptr, a.hidden.data(), a.activation.data(),
                                    out.data()};
    if (context.tap.active()) {
        block.widen(0, rows);
        context.tap(at(where, Stage::FfnHidden), a.hidden);
        activate(config.activation, a.hidden.data(), a.hidden.size(), a.activation.data());
        context.tap(at(where, Stage::FfnActivation), a.activation);
        block.narrow(0, rows);
    } else {
        block.run(rows);
    }
    context.tap(at(where, Stage::FfnOut), out);
    end_block<Scalar>(context, weights.norm, x, end_stages(where), {a.out, a.residual, a.norm});
}

template <class Scalar>
void feed_forward_block_backward(const PassContext<Scalar>& context, const WeightsAndGradients<FeedForwardWeights, Scalar>& weights,
                                 const Tensor<Scalar>& x, const StageId& where, const FeedForwardActivations<Scalar>& activations,
                                 FeedForwardActivations<Scalar>& gradients, Tensor<Scalar>& dx) {
    const Config& config = context.config;
    const FeedForwardActivations<Scalar>& a = activations;
    FeedForwardActivations<Scalar>& g = gradients;
    const FeedForwardWeights<const Scalar>& w = weights.weights;
    const FeedForwardWeights<Scalar>& dw = weights.gradients;
    const bool pre = config.norm == NormPlacement::Pre;
    const std::int64_t rows = x.shape()[0].size * x.shape()[1].size;
    const auto [dsum, dout] =
        end_block_backward<Scalar>(context, {w.norm, dw.norm}, end_stages(where), {a.out, a.residual, a.norm}, {g.out, g.residual, g.norm});
    context.tap(at(where, Stage::FfnOut), *dout);

    g.activation.resize(a.hidden.shape());
    const bool shown = context.tap.active(), multiplies = !shown && leaves_slope(config.activation);
    linear_backward(dout->data(), a.activation.data(), rows, config.d_ff, config.d_model, w.out.weight, g.activation.data(), dw.out.weight,
                    dw.out.bias,
                    {.packed_across = w.out.packed_across, .times = multiplies ? a.hidden.data() : nullptr, .replaces = context.fresh});
    context.tap(at(where, Stage::FfnActivation), g.activation);

    Tensor<Scalar>& dhidden = shown ? g.hidden : g.activation;
    dhidden.resize(a.hidden.shape());
    if (shown) activate_backward(config.activation, a.hidden.data(), g.activation.data(), a.hidden.size(), dhidden.data());
    else if (!multiplies) activate_once_backward(config.activation, a.hidden.data(), g.activation.data(), a.hidden.size(), dhidden.data());
    context.tap(at(where, Stage::FfnHidden), dhidden);

    const Tensor<Scalar>& in = pre ? a.norm.out : x;
    Tensor<Scalar>& din = pre ? g.norm.out : dx;
    din.resize(x.shape());
    linear_backward(dhidden.data(), in.data(), rows, config.d_model, config.d_ff, w.in.weight, din.data(), dw.in.weight, dw.in.bias,
                    {.packed_across = w.in.packed_across, .replaces = context.fresh});
    if (pre) {
        context.tap(at(where, Stage::Norm2), g.norm.out);
        norm_layer_backward<Scalar>(context, {w.norm, dw.norm}, x, a.norm, g.norm, adds_to_stream(context) ? dsum : nullptr, dx);
    } else if (adds_to_stream(context)) {
        add(dx.data(), dsum->data(), dx.size(), dx.data());
    }
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template Tensor<Scalar>& output_of<Scalar>(const Config&, FeedForwardActivations<Scalar>&);                                            \
    template void feed_forward_block<Scalar>(const PassContext<Scalar>&, const FeedForwardWeights<const Scalar>&, const Tensor<Scalar>&,   \
                                             const StageId&, FeedForwardActivations<Scalar>&);                                             \
    template void feed_forward_block_backward<Scalar>(const PassContext<Scalar>&, const WeightsAndGradients<FeedForwardWeights, Scalar>&,  \
                                                      const Tensor<Scalar>&, const StageId&, const FeedForwardActivations<Scalar>&,        \
                                                      FeedForwardActivations<Scalar>&, Tensor<Scalar>&);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn
