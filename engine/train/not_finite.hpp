#pragma once
/// Finds out where the numbers of a training step became infinite or NaN.

#include <stop_token>
#include <string>

#include "engine/tasks/dataset.hpp"
#include "engine/tensor/error.hpp"
#include "engine/train/train_step.hpp"

namespace attn {

/// Thrown for a training step whose loss or gradient is infinite or NaN; parameters and optimizer are unchanged.
class NotFinite : public Error {
public:
    NotFinite(std::int64_t step, std::string tensor);
    std::int64_t step() const { return step_; }            ///< the step that failed, counted from 1
    const std::string& tensor() const { return tensor_; }  ///< "layers.0.attention.scores", "the gradient of layers.1.norm_2"

private:
    std::int64_t step_;
    std::string tensor_;
};

/// The first tensor that is not finite, in the order of a step's computation: a parameter; the stages from tokens to probabilities; their
/// gradients in reverse; the parameters' gradients. "" if all are finite. Repeats the batch sequence by sequence, recording every stage.
std::string first_not_finite(const Parameters<float>& parameters, const Batch& batch, const ForwardSettings& settings,
                             std::stop_token stop = {});

}  // namespace attn
