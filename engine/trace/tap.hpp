#pragma once
/// The single place where a forward pass shows its stages: edits them, records them and lets a stale computation be abandoned.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "engine/tensor/error.hpp"
#include "engine/trace/apply_edit.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// Sees a stage as it is computed; the mask is null for a stage without one.
template <class Scalar>
using StageObserver = std::function<void(const StageId& id, const Tensor<Scalar>& value, const Mask* mask)>;

/// Passed down a forward or a backward pass. When it neither records nor edits it costs one branch a stage.
template <class Scalar>
class Tap {
public:
    /// Records every stage if `records`. Throws Cancelled at the next stage once `stop` is requested.
    explicit Tap(bool records = false, std::stop_token stop = {}) : records_(records), stop_(std::move(stop)) {}

    /// Records only stages of which this says so, as copies: their memory may be used again.
    void keep_only(std::function<bool(const StageId&)> keeps) { keeps_ = std::move(keeps); }
    /// Shows every stage of a forward pass to somebody, who may be empty.
    void observe(StageObserver<Scalar> each) { each_ = std::move(each); }

    /// True when stages have to be materialised one by one; false allows fused kernels.
    bool active() const { return records_ || each_ || !edits_.empty(); }

    /// From now on the stages are those of a forward pass with these edits, which have to outlive it; of the positions from `first_row` on.
    void begin_forward(std::span<const Edit> edits, std::int64_t first_row = 0) {
        edits_ = edits;
        first_row_ = first_row;
        backward_ = false;
    }
    /// From now on the stages are gradients with respect to the stages of such a forward pass.
    void begin_backward(std::span<const Edit> edits) {
        edits_ = edits;
        backward_ = true;
    }
    /// True when the stage differs from what was computed for it.
    bool edits(const StageId& id) const { return any_edit_at(edits_, id); }

    /// Throws Cancelled once a stop is requested.
    void check() const {
        if (stop_.stop_requested()) throw Cancelled();
    }

    /// Called once per stage with the computed tensor, before anything downstream reads it. The tensor stays where it is, so that
    /// recording copies nothing, and must live until take().
    void operator()(const StageId& id, Tensor<Scalar>& value, const std::shared_ptr<const Mask>& mask = nullptr) {
        check();
        if (active()) show(id, value, mask);
    }

    /// The stages in the order of computation, their tensors moved out of where they were computed.
    std::vector<RecordedStage<Scalar>> take() {
        std::vector<RecordedStage<Scalar>> stages;
        stages.reserve(shown_.size());
        for (Shown& shown : shown_)
            stages.push_back(
                {shown.id, shown.own ? std::move(*shown.own) : std::move(*shown.value), std::move(shown.mask), std::move(shown.edited)});
        shown_.clear();
        return stages;
    }

private:
    struct Shown {
        StageId id;
        Tensor<Scalar>* value;
        std::shared_ptr<const Mask> mask;
        std::shared_ptr<const EditMarks> edited;
        std::optional<Tensor<Scalar>> own;  ///< recorded in place of `value`, which goes on as something else
    };

    void show(const StageId& id, Tensor<Scalar>& value, const std::shared_ptr<const Mask>& mask) {
        Shown shown{id, &value, mask, nullptr, {}};
        if (!backward_) {
            apply_edits(edits_, id, value, mask.get(), first_row_);
        } else if (edits(id)) {
            // What is shown is the gradient of the edited number, what goes on is that of the computed one.
            if (records_) shown.own = value;
            apply_edits_backward(edits_, id, value, mask.get());
        }
        if (each_ && !backward_) each_(id, value, mask.get());
        if (!records_ || (keeps_ && !keeps_(id))) return;
        if (!backward_ && first_row_ == 0) shown.edited = marks_of(edits_, id, value.shape(), mask.get());
        if (keeps_) shown.own = value;
        shown_.push_back(std::move(shown));
    }

    std::vector<Shown> shown_;
    std::function<bool(const StageId&)> keeps_;
    StageObserver<Scalar> each_;
    std::span<const Edit> edits_;
    std::int64_t first_row_ = 0;
    bool backward_ = false;
    bool records_;
    std::stop_token stop_;
};

}  // namespace attn
