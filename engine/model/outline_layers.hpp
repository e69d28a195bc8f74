#pragma once
/// The layers of an outline, computed some positions at a time.

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "engine/model/layer_in_rows.hpp"
#include "engine/plan/plan.hpp"
#include "engine/trace/trace.hpp"
#include "engine/weights/weights.hpp"

namespace attn {

/// Shows the layers of a trace, with maps only where they are edited.
template <class Scalar>
class LayersOfOutline {
public:
    /// `trace` and `weights` must outlive this.
    LayersOfOutline(const Trace<Scalar>& trace, const Weights& weights, const RowCounts& rows, std::stop_token stop);
    /// `progress` is told the share of this part that is done; it may be empty.
    void show(const PlanPart& part, const Tensor<Scalar>& stream, const RowsObserver<Scalar>& each,
              const std::function<void(double share)>& progress = {});

private:
    const Trace<Scalar>& trace_;
    const Weights& weights_;
    const RowCounts rows_;
    const std::stop_token stop_;
    std::optional<LayerInRows<Scalar>> with_maps_, without_maps_;
};

/// Computes the stream that enters the first layer.
template <class Scalar>
RecordedStage<Scalar> first_stream(const Trace<Scalar>& trace, const Weights& weights, const std::stop_token& stop);

/// Computes the layers in nodes [place, end), records the stages in `kept`, and marks the cells that edits set. The trace's last stage is
/// what the first layer reads. `progress` as in OutlineLimits.
template <class Scalar>
void add_layers_in_rows(Trace<Scalar>& trace, const Weights& weights, std::size_t place, std::size_t end, const std::vector<StageId>& kept,
                        const RowCounts& rows, const std::stop_token& stop, const std::function<void(double share)>& progress = {});

}  // namespace attn
