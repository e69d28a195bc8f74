#include <algorithm>

#include "engine/model/steps/steps.hpp"
#include "engine/ops/elementwise.hpp"
#include "engine/ops/norm.hpp"
#include "engine/ops/parallel.hpp"

namespace attn {
namespace {

/// The rows a norm applies to: those of the stream, or those of queries and keys, all heads of a position together.
struct NormRows {
    std::int64_t batches = 1, positions = 1, heads = 1, head_size = 0;  ///< of queries and keys
    std::int64_t rows = 0, width = 0;
};

template <class Scalar>
NormRows norm_rows(const Program<Scalar>& program, std::size_t place, const Shape& shape) {
    const PlanNode& node = *program.node(place).plan;
    NormRows out;
    out.batches = shape[0].size;
    if (!node.has_heads()) {
        out.width = shape[2].size;
        out.rows = shape[0].size * shape[1].size;
        return out;
    }
    out.positions = shape[shape.rank() == 4 ? 2 : 1].size;
    out.heads = node.axes[1] == Axis::H ? program.config().num_heads : program.config().kv_heads();
    out.head_size = program.config().head_size();
    out.width = node.settings.all_heads ? out.heads * out.head_size : out.head_size;
    out.rows = out.batches * out.positions * out.heads * out.head_size / out.width;
    return out;
}

/// Copies heads side by side, [B,T,HD], so that rows are contiguous; `back` copies them back.
template <class Scalar, class Numbers>
void join_rows(const HeadsView<Numbers>& heads, const NormRows& sizes, Scalar* joined, bool back) {
    parallel_for(sizes.batches * sizes.positions, sizes.heads * sizes.head_size, [&](std::int64_t bt) {
        for (std::int64_t h = 0; h < sizes.heads; ++h) {
            Scalar* const row = joined + (bt * sizes.heads + h) * sizes.head_size;
            Numbers* const head = heads.at(bt / sizes.positions, h, bt % sizes.positions);
            if (back) std::copy_n(row, sizes.head_size, head);
            else std::copy_n(head, sizes.head_size, row);
        }
    });
}

/// The heads of a node's result or gradient side by side, in the program's memory.
template <class Scalar>
Tensor<Scalar>& joined_heads(Tensor<Scalar>& memory, const HeadsView<Scalar>& heads, const NormRows& sizes) {
    memory.resize({{Axis::B, sizes.batches}, {Axis::T, sizes.positions}, {Axis::N, sizes.heads * sizes.head_size}});
    join_rows<Scalar>(heads, sizes, memory.data(), false);
    return memory;
}

template <class Scalar>
void apply_norm(Program<Scalar>& program, std::size_t place, const NormRows& sizes, const Scalar* x, Scalar* y) {
    const Node<Scalar>& node = program.node(place);
    const OpSettings& settings = node.plan->settings;
    auto& [mean, rstd] = program.statistics(place);
    rstd.resize({{Axis::N, sizes.rows}});
    if (settings.norm_kind != NormKind::LayerNorm)
        return rms_norm(x, sizes.rows, sizes.width, program.gain(place), settings.eps, y, rstd.data());
    mean.resize({{Axis::N, sizes.rows}});
    layer_norm(x, sizes.rows, sizes.width, node.gain, node.bias, settings.eps, y, mean.data(), rstd.data());
}

template <class Scalar>
void apply_norm_backward(Program<Scalar>& program, std::size_t place, const NormRows& sizes, const Scalar* dy, const Scalar* x,
                         const NormGradients<Scalar>& out) {
    const auto& [mean, rstd] = program.statistics(place);
    const Scalar* gain = program.gain(place);
    if (program.node(place).plan->settings.norm_kind != NormKind::LayerNorm)
        return rms_norm_backward(dy, x, sizes.rows, sizes.width, gain, rstd.data(), out);
    layer_norm_backward(dy, x, sizes.rows, sizes.width, gain, mean.data(), rstd.data(), out);
}

/// Norm of queries or keys. In fused form the heads are inside packed rows, where the result is put back.
template <class Scalar>
void norm_heads_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const std::size_t input = program.node(step.first).inputs[0];
    const NormRows sizes = norm_rows(program, step.first, program.value(input).shape());
    Tensor<Scalar>& rows = joined_heads(program.joined_heads()[0], program.heads(input), sizes);
    Tensor<Scalar>& out = program.value(step.first);
    if (program.fused()) {
        out.resize(rows.shape());
        return apply_norm(program, step.first, sizes, rows.data(), out.data());
    }
    apply_norm(program, step.first, sizes, rows.data(), rows.data());
    out.resize(program.value(input).shape());
    join_rows<Scalar>(program.heads(step.first), sizes, rows.data(), true);
}

template <class Scalar>
void norm_heads_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    const std::size_t input = program.node(step.first).inputs[0];
    const NormRows sizes = norm_rows(program, step.first, program.value(input).shape());
    const Tensor<Scalar>& x = joined_heads(program.joined_heads()[0], program.heads(input), sizes);
    Tensor<Scalar>& dy = joined_heads(program.joined_heads()[1], program.gradient_heads(step.first), sizes);
    apply_norm_backward<Scalar>(program, step.first, sizes, dy.data(), x.data(), {dy.data(), program.dweight(step.first), nullptr});
    if (program.fused()) {  // nothing else reads the norm's input
        program.begin_gradient(input);
        return join_rows<Scalar>(program.gradient_heads(input), sizes, dy.data(), true);
    }
    program.contribute(input, [&](Tensor<Scalar>& dx) {
        dx.resize(program.value(input).shape());
        join_rows<Scalar>(program.heads_in(dx, input), sizes, dy.data(), true);
    });
}

template <class Scalar>
void norm_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const PlanNode& node = *program.node(step.first).plan;
    const Tensor<Scalar>& x = program.input(step.first);
    Tensor<Scalar>& out = program.value(step.first);
    if (node.has_heads()) return norm_heads_forward(program, step);
    out.resize(x.shape());
    apply_norm(program, step.first, norm_rows(program, step.first, x.shape()), x.data(), out.data());
}

template <class Scalar>
void norm_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    const PlanNode& node = *program.node(step.first).plan;
    const std::size_t input = program.node(step.first).inputs[0];
    if (node.has_heads()) return norm_heads_backward(program, step);
    // If the stream already has part of its gradient, the norm's is added to it on the way.
    const bool adds = program.has_gradient(input);
    const Tensor<Scalar>&dy = program.gradient(step.first), &x = program.value(input);
    Tensor<Scalar>& dx = program.begin_gradient(input);
    apply_norm_backward<Scalar>(program, step.first, norm_rows(program, step.first, x.shape()), dy.data(), x.data(),
                                {dx.data(), program.dweight(step.first), program.dbias(step.first), adds ? dx.data() : nullptr});
}

}  // namespace

template <class Scalar>
StepFunctions<Scalar> norm_step() {
    return {&norm_forward<Scalar>, &norm_backward<Scalar>};
}
template StepFunctions<float> norm_step();
template StepFunctions<double> norm_step();

}  // namespace attn
