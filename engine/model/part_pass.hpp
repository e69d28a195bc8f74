#pragma once
/// Computes some of a model's stages from given values of others instead of from tokens.

#include "engine/model/pass_masks.hpp"
#include "engine/model/program.hpp"

namespace attn {

template <class Scalar>
class PartPass {
public:
    /// `parameters` must outlive this.
    PartPass(const Parameters<Scalar>& parameters, const ForwardSettings& settings, PassMasks masks = {}, Form form = Form::Fused);
    PartPass(const PartPass&) = delete;
    PartPass& operator=(const PartPass&) = delete;

    const Plan& plan() const { return plan_; }
    /// Sets the value of a stage.
    void give(const StageId& id, Tensor<Scalar> value) { program_.value(program_.place(id)) = std::move(value); }
    /// Computes all stages after `id` in the plan's order, and returns the last. Anything else they read must have been given.
    const Tensor<Scalar>& forward_after(const StageId& id);
    /// Gradients of the same stages from that of the last one: of the parameters, and of the stages given.
    void backward(Tensor<Scalar> doutput, Gradients<Scalar>& gradients);
    const Tensor<Scalar>& value(const StageId& id) { return program_.value(program_.place(id)); }
    const Tensor<Scalar>& gradient(const StageId& id) { return program_.gradient(program_.place(id)); }

private:
    std::size_t last() const { return plan_.nodes().size() - 1; }

    const Weights weights_;
    const Plan plan_;
    const ForwardSettings settings_;
    const PassMasks masks_;
    Tap<Scalar> tap_;
    Program<Scalar> program_;
    std::size_t first_ = 0;
};

}  // namespace attn
