#pragma once
/// The gradients of one backward pass: plain data.

#include <memory>
#include <vector>

#include "engine/trace/trace.hpp"

namespace attn {

/// The gradient of the loss with respect to every number of a Trace and every parameter; 0 in masked cells (scaled_dot_product.hpp).
template <class Scalar>
struct GradientTrace {
    double loss = 0;           ///< mean cross-entropy over the counted targets
    std::int64_t counted = 0;  ///< 0: there was nothing to predict, and every gradient is 0
    /// Under the ids of the forward pass and in its order; the tokens have none. Of a tensor that is used twice (the residual
    /// stream) the gradient is the whole one.
    std::vector<RecordedStage<Scalar>> stages;
    std::shared_ptr<const Parameters<Scalar>> parameters;

    /// nullptr when the stage was not recorded.
    const RecordedStage<Scalar>* find(const StageId& id) const {
        for (const auto& stage : stages)
            if (stage.id == id) return &stage;
        return nullptr;
    }
};

}  // namespace attn
