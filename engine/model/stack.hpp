#pragma once
/// A stack of layers with its final norm: forward, and backward under it. Starts from embeddings, so that it serves whole models as
/// well as single layers that are given tensors.

#include "engine/model/blocks.hpp"

namespace attn {

/// What a stack attends to and under which masks. A stack with a memory has cross-attention.
template <class Scalar>
struct StackInputs {
    std::shared_ptr<const Mask> mask;
    const Tensor<Scalar>* memory = nullptr;  ///< [B,S,C]
    std::shared_ptr<const Mask> cross_mask;
    Stack stack = Stack::Main;
};

/// The stack's output among its activations (or gradients), whose layers are there already; `cross` if it has a memory.
template <class Scalar>
Tensor<Scalar>& output_of(const Config& config, bool cross, StackActivations<Scalar>& activations);

/// activations.embedding [B,T,C] -> output_of(activations) [B,T,C]
template <class Scalar>
void run_stack(const PassContext<Scalar>& context, const StackWeights<const Scalar>& weights, const StackInputs<Scalar>& inputs,
               StackActivations<Scalar>& activations);

/// Gradients of run_stack(): from output_of(gradients) those of every stage down to gradients.embedding, of the parameters (+=) and of
/// the memory (dmemory +=).
template <class Scalar>
void run_stack_backward(const PassContext<Scalar>& context, const WeightsAndGradients<StackWeights, Scalar>& weights,
                        const StackInputs<Scalar>& inputs, StackActivations<Scalar>& activations, StackActivations<Scalar>& gradients,
                        Tensor<Scalar>* dmemory);

}  // namespace attn
