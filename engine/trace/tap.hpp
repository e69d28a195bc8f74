#pragma once
/// The single place where a pass exposes its stages: applies edits, records, and cancels a computation that is no longer wanted.

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

/// Called for every stage as it is computed; the mask is null for a stage without one.
template <class Scalar>
using StageObserver = std::function<void(const StageId& id, const Tensor<Scalar>& value, const Mask* mask)>;

/// Passed through a forward or backward pass. Without recording, edits or observer it costs a branch per stage.
template <class Scalar>
class Tap {
public:
    /// `records`: record every stage. Throws Cancelled at the next stage once `stop` is requested.
    explicit Tap(bool records = false, std::stop_token stop = {}) : records_(records), stop_(std::move(stop)) {}

    /// Records only the stages this accepts, as copies, so that their memory may be reused.
    void keep_only(std::function<bool(const StageId&)> keeps) { keeps_ = std::move(keeps); }
    /// Shows every stage of a forward pass to an observer, which may be empty.
    void observe(StageObserver<Scalar> each) { each_ = std::move(each); }

    /// True if every stage must be materialised; false allows fused kernels.
    bool active() const { return records_ || each_ || !edits_.empty(); }

    /// Starts a forward pass with these edits, which must outlive it; stages hold the positions from `first_row` on.
    void begin_forward(std::span<const Edit> edits, std::int64_t first_row = 0) {
        edits_ = edits;
        first_row_ = first_row;
        backward_ = false;
    }
    /// Starts the backward pass of a forward pass with these edits.
    void begin_backward(std::span<const Edit> edits) {
        edits_ = edits;
        backward_ = true;
    }
    /// Whether an edit changes this stage.
    bool edits(const StageId& id) const { return any_edit_at(edits_, id); }

    const std::stop_token& stop() const { return stop_; }
    /// From now on a step that takes long tells the share of it that is done, from any thread that computes.
    void tell(std::function<void(double share)> progress) { progress_ = std::move(progress); }
    const std::function<void(double share)>& progress() const { return progress_; }
    /// Throws Cancelled if a stop was requested.
    void check() const {
        if (stop_.stop_requested()) throw Cancelled();
    }

    /// Called once per stage, after it is computed and before anything reads it. Recording does not copy: the tensor must stay alive until
    /// take().
    void operator()(const StageId& id, Tensor<Scalar>& value, const std::shared_ptr<const Mask>& mask = nullptr) {
        check();
        if (active()) show(id, value, mask);
    }

    /// The recorded stages in order of computation; their tensors are moved out of where they were computed.
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
        std::optional<Tensor<Scalar>> own;  ///< recorded instead of `value`, which is changed or reused later
    };

    void show(const StageId& id, Tensor<Scalar>& value, const std::shared_ptr<const Mask>& mask) {
        Shown shown{id, &value, mask, nullptr, {}};
        if (!backward_) {
            apply_edits(edits_, id, value, mask.get(), first_row_);
        } else if (edits(id)) {
            // The recorded gradient is that of the edited number; the one passed on is that of the computed number.
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
    std::function<void(double)> progress_;
    StageObserver<Scalar> each_;
    std::span<const Edit> edits_;
    std::int64_t first_row_ = 0;
    bool backward_ = false;
    bool records_;
    std::stop_token stop_;
};

}  // namespace attn
