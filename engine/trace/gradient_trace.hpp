#pragma once
/// The gradients of one backward pass, as plain data.

#include <memory>
#include <vector>

#include "engine/trace/trace.hpp"

namespace attn {

/// Gradient of the loss with respect to every number of a Trace and every parameter; 0 in masked cells (see scaled_dot_product.hpp).
template <class Scalar>
struct GradientTrace {
    double loss = 0;           ///< mean cross-entropy over the counted targets
    std::int64_t counted = 0;  ///< 0: nothing to predict, so every gradient is 0
    /// With the ids and in the order of the forward pass, except the tokens. For a tensor that several stages read (the residual stream),
    /// this is the total gradient.
    std::vector<RecordedStage<Scalar>> stages;
    std::shared_ptr<const Parameters<Scalar>> parameters;

    /// nullptr if the stage was not recorded.
    const RecordedStage<Scalar>* find(const StageId& id) const {
        for (const auto& stage : stages)
            if (stage.id == id) return &stage;
        return nullptr;
    }
};

}  // namespace attn
