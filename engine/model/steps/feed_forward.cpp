#include <algorithm>

#include "engine/model/steps/steps.hpp"
#include "engine/ops/activation.hpp"
#include "engine/ops/elementwise.hpp"
#include "engine/ops/linear.hpp"
#include "engine/ops/parallel.hpp"

namespace attn {
namespace {

template <class Scalar>
void activate_step_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Tensor<Scalar>& x = program.input(step.first);
    Tensor<Scalar>& out = program.value(step.first);
    out.resize(x.shape());
    activate(program.node(step.first).plan->settings.activation, x.data(), x.size(), out.data());
}

template <class Scalar>
void activate_step_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Node<Scalar>& node = program.node(step.first);
    const Tensor<Scalar>& x = program.input(step.first);
    program.contribute(node.inputs[0], [&](Tensor<Scalar>& dx) {
        dx.resize(x.shape());
        activate_backward(node.plan->settings.activation, x.data(), program.gradient(step.first).data(), x.size(), dx.data());
    });
}

template <class Scalar>
void multiply_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Tensor<Scalar>&a = program.input(step.first), &b = program.input(step.first, 1);
    Tensor<Scalar>& out = program.value(step.first);
    out.resize(a.shape());
    multiply(a.data(), b.data(), a.size(), out.data());
}

template <class Scalar>
void multiply_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    const std::vector<std::size_t>& inputs = program.node(step.first).inputs;
    const Tensor<Scalar>& dy = program.gradient(step.first);
    for (const std::size_t i : {0, 1})
        program.contribute(inputs[i], [&](Tensor<Scalar>& dx) {
            dx.resize(dy.shape());
            multiply(dy.data(), program.value(inputs[1 - i]).data(), dy.size(), dx.data());
        });
}

/// A feed-forward block in fused form.
template <class Scalar>
class FeedForwardBlock {
public:
    FeedForwardBlock(Program<Scalar>& program, const Step<Scalar>& step)
        : program_(program), gated_(program.node(step.first + 1).plan->op == Op::Linear), source_(step.first),
          hidden_(gated_ ? source_ + 1 : source_), active_(hidden_ + 1), product_(gated_ ? active_ + 1 : active_), out_(product_ + 1),
          sum_(step.last()), adds_(sum_ > out_), in_(program.node(source_).inputs[0]),
          activation_(program.node(active_).plan->settings.activation) {}

    void forward() const {
        const Tensor<Scalar>& in = program_.value(in_);
        const Shape wide{in.shape()[0], in.shape()[1], {Axis::F, this->wide()}};
        for (const std::size_t place : {source_, hidden_, active_, product_}) program_.value(place).resize(wide);
        const DropoutPattern pattern = residual_pattern(in.shape());
        Tensor<Scalar>& out = program_.value(sum_);
        out.resize(in.shape());
        const Scalar* stream = adds_ ? program_.input(sum_).data() : nullptr;
        run(in, pattern.rate() == 0 ? stream : nullptr, out);
        if (pattern.rate() > 0) add_dropped(pattern, program_.input(sum_), out);
    }

    void backward() const {
        const Tensor<Scalar>& dout = adds_ ? dropped_gradient(program_, out_, sum_) : program_.gradient(out_);
        const bool multiplies = !gated_ && leaves_slope(activation_);
        map_backward(program_, out_, dout, multiplies ? program_.value(source_).data() : nullptr);
        if (adds_) program_.pass_on(sum_, program_.node(sum_).inputs[0]);
        if (gated_) ungate();
        // The activation's input uses the gradient memory of the activation.
        Tensor<Scalar>& dsource = program_.gradient(active_);
        if (!multiplies)
            activate_once_backward(activation_, program_.value(source_).data(), dsource.data(), dsource.size(), dsource.data());
        map_backward(program_, source_, dsource);
    }

private:
    /// Number of hidden units.
    std::int64_t wide() const { return program_.node(source_).weight.columns; }
    DropoutPattern residual_pattern(const Shape& shape) const {
        return adds_ ? residual_dropout(program_, sum_, shape) : DropoutPattern(0, 0, {});
    }

    /// Gradients of both factors of the product, and the backward step of the map that the activation is multiplied by.
    void ungate() const {
        const Tensor<Scalar>& dproduct = program_.gradient(product_);
        const std::int64_t size = dproduct.size();
        multiply(dproduct.data(), program_.value(active_).data(), size, program_.begin_gradient(hidden_).data());
        multiply(dproduct.data(), program_.value(hidden_).data(), size, program_.begin_gradient(active_).data());
        map_backward(program_, hidden_, program_.gradient(hidden_));
    }

    /// Rows processed at a time: so few that the hidden layer stays in the cache. If the weights do not fit the cache, every group of rows
    /// reads them again, and more rows at a time make up for that.
    std::int64_t rows_at_once(std::int64_t rows) const {
        constexpr std::int64_t kNumbers = 100'000, kGrain = 48, kManyRows = 256, kWeights = 200'000;
        if (program_.node(source_).packed.data == nullptr) return rows;
        if (program_.config().d_model * wide() > kWeights) return kManyRows;
        return std::max<std::int64_t>(1, kNumbers / wide() / kGrain) * kGrain;
    }

    /// Runs groups of rows through the whole block. The activation's input is kept only for the backward pass.
    void run(const Tensor<Scalar>& in, const Scalar* stream, Tensor<Scalar>& out) const {
        const std::int64_t rows = rows_of(in), at_once = rows_at_once(rows), wide = this->wide();
        const std::int64_t parts = (rows + at_once - 1) / std::max<std::int64_t>(1, at_once);
        parallel_for(parts, at_once * wide * program_.config().d_model / 16, [&](std::int64_t part) {
            const std::int64_t first = part * at_once, here = std::min(at_once, rows - first);
            Scalar *source = program_.value(source_).data() + first * wide, *active = program_.value(active_).data() + first * wide;
            map(source_, in, first, here, nullptr, program_.value(source_));
            if (gated_) map(hidden_, in, first, here, nullptr, program_.value(hidden_));
            activate_once(activation_, source, here * wide, active);
            if (gated_)
                multiply(active, program_.value(hidden_).data() + first * wide, here * wide,
                         program_.value(product_).data() + first * wide);
            map(out_, program_.value(product_), first, here, stream, out);
        });
    }

    void map(std::size_t place, const Tensor<Scalar>& x, std::int64_t first, std::int64_t rows, const Scalar* plus,
             Tensor<Scalar>& y) const {
        const Node<Scalar>& node = program_.node(place);
        const std::int64_t to = first * node.weight.columns;
        linear(x.data() + first * node.weight.rows, rows, node.weight, node.bias, y.data() + to, plus == nullptr ? nullptr : plus + to,
               node.packed.data);
    }

    Program<Scalar>& program_;
    bool gated_;
    /// Indices of nodes: the activation's input, the map the activation is multiplied by (the same without a gate), the activation, the
    /// product (the activation without a gate), the last map, and the new stream.
    std::size_t source_, hidden_, active_, product_, out_, sum_;
    bool adds_;
    std::size_t in_;
    Activation activation_;
};

template <class Scalar>
void fused_block_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    FeedForwardBlock<Scalar>(program, step).forward();
}
template <class Scalar>
void fused_block_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    FeedForwardBlock<Scalar>(program, step).backward();
}

}  // namespace

template <class Scalar>
StepFunctions<Scalar> activate_step() {
    return {&activate_step_forward<Scalar>, &activate_step_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> multiply_step() {
    return {&multiply_forward<Scalar>, &multiply_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> fused_feed_forward_step() {
    return {&fused_block_forward<Scalar>, &fused_block_backward<Scalar>};
}

template StepFunctions<float> activate_step();
template StepFunctions<double> activate_step();
template StepFunctions<float> multiply_step();
template StepFunctions<double> multiply_step();
template StepFunctions<float> fused_feed_forward_step();
template StepFunctions<double> fused_feed_forward_step();

}  // namespace attn
