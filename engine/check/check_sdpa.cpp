#include <array>

#include "engine/attention/scaled_dot_product.hpp"
#include "engine/check/modules.hpp"
#include "engine/io/file_error.hpp"
#include "engine/tensor/error.hpp"

namespace attn::check {
namespace {

Shape heads_shape(const std::vector<std::int64_t>& sizes, Axis position) {
    return {{Axis::B, sizes[0]}, {Axis::H, sizes[1]}, {position, sizes[2]}, {Axis::D, sizes[3]}};
}

/// PyTorch broadcasts this function's mask: `values` of shape `sizes` are repeated along missing axes and axes of size 1.
template <class Value>
std::vector<Value> broadcast(const std::vector<Value>& values, std::vector<std::int64_t> sizes, const Mask::Target& target) {
    const std::array<std::int64_t, 4> whole{target.batches, target.heads, target.queries, target.keys};
    const Shape asked{{Axis::B, whole[0]}, {Axis::H, whole[1]}, {Axis::T, whole[2]}, {Axis::S, whole[3]}};
    const std::string shape = shape_text(sizes);
    bool fits = sizes.size() <= whole.size();
    if (fits) sizes.insert(sizes.begin(), whole.size() - sizes.size(), 1);
    for (std::size_t axis = 0; fits && axis < whole.size(); ++axis) fits = sizes[axis] == 1 || sizes[axis] == whole[axis];
    if (!fits) throw ShapeError("has shape " + shape + ", which cannot be broadcast to the scores' " + asked.text());
    std::vector<Value> out;
    out.reserve(static_cast<std::size_t>(asked.count()));
    for (std::int64_t i = 0; i < asked.count(); ++i) {
        std::int64_t from = 0, rest = i, stride = 1;
        for (std::size_t axis = whole.size(); axis-- > 0; rest /= whole[axis], stride *= sizes[axis])
            from += sizes[axis] == 1 ? 0 : rest % whole[axis] * stride;
        out.push_back(values[static_cast<std::size_t>(from)]);
    }
    return out;
}

/// Reads in.mask by its convention, bool_keep or additive.
Mask read_mask(const CaseFile& file, CaseConfig& config, const AttentionSizes& sizes) {
    const std::string convention = config.text("mask");
    if (convention == "none") return Mask(sizes.queries, sizes.keys);
    if (convention != "bool_keep" && convention != "additive")
        config.fail("mask", "expected none, bool_keep or additive, found \"" + escaped(convention) + "\"");
    const Mask::Target target{sizes.batches, sizes.heads, sizes.queries, sizes.keys};
    const std::vector<std::int64_t>& shape = file.sizes("in.mask");
    try {
        const std::vector<std::int64_t> whole{sizes.batches, sizes.heads, sizes.queries, sizes.keys};
        if (convention == "bool_keep") return Mask::from_sdpa_bool(whole, broadcast(file.flags("in.mask"), shape, target), target);
        return Mask::from_additive(whole, broadcast(file.numbers<double>("in.mask"), shape, target), target);
    } catch (const ShapeError& error) {
        file.fail("in.mask", error.what());
    }
}

}  // namespace

template <class Scalar>
void check_sdpa(CaseFile& file, CaseConfig& config) {
    const std::vector<std::int64_t>&q_sizes = file.sizes("in.q", 4), &k_sizes = file.sizes("in.k", 4), &v_sizes = file.sizes("in.v", 4);
    const auto agree = [&](const char* tensor, const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b, std::size_t axis) {
        if (a[axis] != b[axis]) file.fail(tensor, "has shape " + shape_text(a) + ", which does not fit " + shape_text(b));
    };
    for (const std::size_t axis : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) agree("in.k", k_sizes, q_sizes, axis);
    for (const std::size_t axis : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) agree("in.v", v_sizes, k_sizes, axis);
    const AttentionSizes sizes{q_sizes[0], q_sizes[1], q_sizes[2], k_sizes[2], q_sizes[3], v_sizes[3]};
    require_map_fits(file, "in.q", sizes.map_shape());

    const Tensor<Scalar> q = file.tensor<Scalar>("in.q", heads_shape(q_sizes, Axis::T));
    const Tensor<Scalar> k = file.tensor<Scalar>("in.k", heads_shape(k_sizes, Axis::S));
    const Tensor<Scalar> v = file.tensor<Scalar>("in.v", heads_shape(v_sizes, Axis::S));
    const Mask mask = read_mask(file, config, sizes);
    Tensor<Scalar> scores, scaled, masked, weights, context;
    attention_scores(q, k, sizes, scores);
    const double factor = config.number("scale", -1e30, 1e30);
    scale_scores(scores, factor, scaled);
    mask_scores(scaled, mask, sizes, masked);
    precise_attention_weights(q, k, factor, masked, mask, 1.0, sizes, weights);
    attention_context(weights, v, mask, sizes, context);
    file.compare("out.scores", scores);
    file.compare("out.scaled", scaled);
    file.compare("out.weights", weights);
    file.compare("out.context", context);
    if (!file.has("in.grad_out")) return;

    const Tensor<Scalar> dcontext = file.tensor<Scalar>("in.grad_out", context.shape());
    Tensor<Scalar> dweights, dmasked, dscores, dq, dk, dv;
    attention_context_backward(dcontext, weights, v, mask, sizes, dweights, dv);
    attention_weights_backward(dweights, weights, mask, 1.0, sizes, dmasked);
    scale_scores(dmasked, factor, dscores);
    attention_scores_backward(dscores, q, k, mask, sizes, dq, dk);
    file.compare("grad.in.q", dq);
    file.compare("grad.in.k", dk);
    file.compare("grad.in.v", dv);
}

template void check_sdpa<float>(CaseFile&, CaseConfig&);
template void check_sdpa<double>(CaseFile&, CaseConfig&);

}  // namespace attn::check
