#pragma once
/// Recomputes parts of a pass: what an outline left out, and what follows a change of edits.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "engine/model/layer_in_rows.hpp"
#include "engine/model/pass_masks.hpp"
#include "engine/model/program.hpp"
#include "engine/trace/tap.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// Recomputes what a trace left out, or what a change of edits affects.
template <class Scalar>
class Recomputation {
public:
    /// `trace` is a trace or an outline and is kept alive. Keep::OneLayer saves memory if most stages are only shown.
    explicit Recomputation(std::shared_ptr<const Trace<Scalar>> trace, Keep keep = Keep::Everything);
    Recomputation(const Recomputation&) = delete;
    Recomputation& operator=(const Recomputation&) = delete;

    /// All stages of the part (a layer, or everything before or after the layers) that contains stage `id`, in order, after the stages they
    /// are computed from; `wanted` may select among them. Throws Error for a stage that the model does not have, Cancelled once `stop` is
    /// requested.
    Trace<Scalar> trace_around(const StageId& id, std::stop_token stop = {}, const std::function<bool(const StageId&)>& wanted = {});
    /// Shows the same stages one after another without keeping any.
    void show_around(const StageId& id, const StageObserver<Scalar>& each, std::stop_token stop = {});
    /// Shows the same stages some positions at a time if possible; each stage is then shown several times, in the order of positions.
    /// `rows` as in OutlineLimits.
    void show_rows_around(const StageId& id, const RowsObserver<Scalar>& each, std::stop_token stop = {}, std::int64_t rows = 0);

    /// The trace with other edits: keeps what precedes the first affected stage and recomputes the rest. An outline stays an outline and is
    /// computed some positions at a time if possible (`rows` as in OutlineLimits). Throws like trace_forward().
    Trace<Scalar> with_edits(std::vector<Edit> edits, std::stop_token stop = {}, std::int64_t rows = 0);
    /// A position of a text of the batch.
    struct Row {
        std::int64_t sequence, position;
    };
    /// The logits [B,T,V] with other edits, or with `only` those of one row, [1,1,V] (nothing after the layers may be edited then):
    /// computes what follows the first affected part and keeps nothing else. Valid until the next call. Throws like trace_forward(),
    /// ConfigError for a model without an output head.
    const Tensor<Scalar>& logits_with(const std::vector<Edit>& edits, const std::optional<Row>& only, std::stop_token stop = {});
    /// An outline with these stages: takes over those before node `place`, the first of a part, and computes the rest.
    Trace<Scalar> outline_from(std::size_t place, const ForwardSettings& settings, const std::vector<StageId>& kept,
                               std::stop_token stop = {}, std::int64_t rows = 0);

private:
    std::vector<const RecordedStage<Scalar>*> read_by(const PlanPart& part) const;
    void give(const PlanPart& part);
    void run(const ForwardSettings& settings, std::size_t first, std::size_t end, Tap<Scalar>& tap);
    /// The first node of the part in which the edits at a stage first differ from the trace's; `end` if none do.
    std::size_t first_changed(const std::vector<Edit>& edits, std::size_t end) const;
    /// The stages before node `place`, and the computed ones from there on.
    Trace<Scalar> before(std::size_t place, const ForwardSettings& settings) const;
    void add(Trace<Scalar>& out, std::size_t place, std::size_t end, Tap<Scalar>& tap);

    std::shared_ptr<const Trace<Scalar>> trace_;
    Weights weights_;
    Plan plan_;
    MaskBuilder mask_builder_;
    Program<Scalar> program_;
};

}  // namespace attn
