#pragma once
/// Finding out where numbers of a training step stopped being finite.

#include <stop_token>
#include <string>

#include "engine/tensor/error.hpp"
#include "engine/train/dataset.hpp"
#include "engine/train/train_step.hpp"

namespace attn {

/// A training step whose loss or gradient is infinite or NaN; parameters and optimizer are as before it.
class NotFinite : public Error {
public:
    NotFinite(std::int64_t step, std::string tensor);
    std::int64_t step() const { return step_; }            ///< the one that was not made, counted from 1
    const std::string& tensor() const { return tensor_; }  ///< "layers.0.attention.scores", "the gradient of layers.1.norm_2"

private:
    std::int64_t step_;
    std::string tensor_;
};

/// The first tensor that is not finite in the order in which a step computes them: a parameter, then the stages from the tokens to the
/// probabilities, then their gradients on the way back, then the gradients of the parameters. "" when all are finite.
/// Runs the batch again sequence by sequence with every stage kept.
std::string first_not_finite(const Parameters<float>& parameters, const Batch& batch, const ForwardSettings& settings,
                             std::stop_token stop = {});

}  // namespace attn
