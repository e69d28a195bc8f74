#pragma once
/// The single place where a forward pass shows its stages: records them and lets a stale computation be abandoned.

#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "engine/tensor/error.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// Passed down a forward pass. When it records nothing it costs one branch a stage.
template <class Scalar>
class Tap {
public:
    /// Records every stage if `records`. Throws Cancelled at the next stage once `stop` is requested.
    explicit Tap(bool records = false, std::stop_token stop = {}) : records_(records), stop_(std::move(stop)) {}

    /// True when stages have to be materialised one by one; false allows fused kernels.
    bool active() const { return records_; }

    /// Called once per stage with the computed tensor, before anything downstream reads it. The tensor stays where it is, so that
    /// recording copies nothing, and must live until take().
    void operator()(const StageId& id, Tensor<Scalar>& value, const std::shared_ptr<const Mask>& mask = nullptr) {
        if (stop_.stop_requested()) throw Cancelled();
        if (records_) shown_.push_back({id, &value, mask});
    }

    /// The stages in the order of computation, their tensors moved out of where they were computed.
    std::vector<RecordedStage<Scalar>> take() {
        std::vector<RecordedStage<Scalar>> stages;
        stages.reserve(shown_.size());
        for (Shown& shown : shown_) stages.push_back({shown.id, std::move(*shown.value), std::move(shown.mask)});
        shown_.clear();
        return stages;
    }

private:
    struct Shown {
        StageId id;
        Tensor<Scalar>* value;
        std::shared_ptr<const Mask> mask;
    };
    std::vector<Shown> shown_;
    bool records_;
    std::stop_token stop_;
};

}  // namespace attn
