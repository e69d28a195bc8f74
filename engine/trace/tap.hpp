#pragma once
/// The single place where a forward pass shows its stages: records them and lets a stale computation be abandoned.

#include <memory>
#include <stop_token>

#include "engine/tensor/error.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// Passed down a forward pass. With no trace and no stop token it costs one branch a stage.
template <class Scalar>
class Tap {
public:
    /// Records nothing.
    Tap() = default;
    /// Records every stage into `trace`, in order. Throws Cancelled at the next stage once `stop` is requested.
    explicit Tap(Trace<Scalar>* trace, std::stop_token stop = {}) : trace_(trace), stop_(std::move(stop)) {}

    /// True when stages have to be materialised one by one; false allows fused kernels.
    bool active() const { return trace_ != nullptr; }

    /// Called once per stage with the computed tensor, before anything downstream reads it.
    void operator()(const StageId& id, Tensor<Scalar>& value, const std::shared_ptr<const Mask>& mask = nullptr) {
        if (stop_.stop_requested()) throw Cancelled();
        if (trace_ != nullptr) trace_->stages.push_back({id, value, mask});
    }

private:
    Trace<Scalar>* trace_ = nullptr;
    std::stop_token stop_;
};

}  // namespace attn
