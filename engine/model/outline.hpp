#pragma once
/// Outlines: traces that hold only the residual stream, and keys and values, of every layer. The inside of a layer is recomputed when it is
/// looked at, bit-identical to a trace that holds everything.

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

/// Limits of an outline.
struct OutlineLimits {
    /// Also hold keys and values, so that a longer text can be continued without recomputing them.
    bool attended = true;
    /// Positions computed at a time where that is possible; 0: as many as fit a few MiB.
    std::int64_t rows = 0;
    /// Stop before the part of the model that contains this stage; complete_outline() goes on from there. None: go through all layers.
    std::optional<StageId> before{};
};

/// The stages an outline holds: residual streams, keys and values (if `attended`), and the memory that a decoder attends to.
std::vector<StageId> outline_stages(const Plan& plan, bool attended = true);

/// The outline of trace_forward()'s result. Beyond the outline itself it needs the memory of one layer, or of a few positions of a layer
/// (see LayerInRows). `each` sees every stage as it is computed, which requires computing all positions at once; it may be empty. Stages
/// after the layers are not computed. Throws like trace_forward().
template <class Scalar>
Trace<Scalar> trace_outline(std::shared_ptr<const Parameters<Scalar>> parameters, const TokenBatch& tokens, const TokenBatch& source,
                            const ForwardSettings& settings, const StageObserver<Scalar>& each = {}, std::stop_token stop = {},
                            const OutlineLimits& limits = {});

/// Shows the stages of all layers of an outline for which can_compute_in_rows() is true, some positions at a time; attention maps only
/// where they are edited.
template <class Scalar>
void show_layers_in_rows(const Trace<Scalar>& outline, const RowsObserver<Scalar>& each, std::stop_token stop = {});

/// How many positions at the beginning of `tokens` have the same numbers in this outline: the length of the common prefix, for a
/// model and settings for which prefix_stays(); else 0, and 0 for several texts.
template <class Scalar>
std::int64_t positions_kept(const Trace<Scalar>& outline, const TokenBatch& tokens);

/// The outline of another text, with the same stages. Computes only the positions after positions_kept() and, if the outline has no keys
/// and values, those of the positions before. `before` as in OutlineLimits. Throws like trace_forward().
template <class Scalar>
Trace<Scalar> continue_outline(const Trace<Scalar>& outline, const TokenBatch& tokens, std::stop_token stop = {},
                               const std::optional<StageId>& before = {});

/// Whether an outline goes through all layers.
template <class Scalar>
bool is_complete(const Trace<Scalar>& outline);
/// Computes the layers that a begun outline lacks. `attended` as it was begun with; `known`: the outline of a text with the same beginning,
/// as for continue_outline(), or null. Throws like trace_forward().
template <class Scalar>
Trace<Scalar> complete_outline(std::shared_ptr<const Trace<Scalar>> begun, bool attended, const Trace<Scalar>* known = nullptr,
                               std::stop_token stop = {});

/// Recomputes what a trace left out, or what a change of edits affects.
template <class Scalar>
class Recomputation {
public:
    /// `trace` is a trace or an outline and is kept alive. Keep::OneLayer saves memory if most stages are only shown.
    explicit Recomputation(std::shared_ptr<const Trace<Scalar>> trace, Keep keep = Keep::Everything);
    Recomputation(const Recomputation&) = delete;
    Recomputation& operator=(const Recomputation&) = delete;

    /// All stages of the part (a layer, or everything before or after the layers) that contains stage `id`, in order. Throws Error for a
    /// stage that the model does not have, Cancelled once `stop` is requested.
    std::vector<RecordedStage<Scalar>> stages_around(const StageId& id, std::stop_token stop = {});
    /// The same as a trace that also holds the stages they are computed from; `wanted` may select among them.
    Trace<Scalar> trace_around(const StageId& id, std::stop_token stop = {}, const std::function<bool(const StageId&)>& wanted = {});
    /// Shows the same stages one after another without keeping any.
    void show_around(const StageId& id, const StageObserver<Scalar>& each, std::stop_token stop = {});
    /// Shows the same stages some positions at a time if possible; each stage is then shown several times, in the order of positions.
    /// `rows` as in OutlineMemory.
    void show_rows_around(const StageId& id, const RowsObserver<Scalar>& each, std::stop_token stop = {}, std::int64_t rows = 0);

    /// The trace with other edits: keeps what precedes the first affected stage and recomputes the rest. An outline stays an outline and is
    /// computed some positions at a time if possible (`rows` as in OutlineMemory). Throws like trace_forward().
    Trace<Scalar> with_edits(std::vector<Edit> edits, std::stop_token stop = {}, std::int64_t rows = 0);
    /// An outline with these stages: takes over those before node `place`, the first of a part, and computes the rest.
    Trace<Scalar> outline_from(std::size_t place, const ForwardSettings& settings, const std::vector<StageId>& kept,
                               std::stop_token stop = {}, std::int64_t rows = 0);

private:
    std::vector<const RecordedStage<Scalar>*> read_by(const PlanPart& part) const;
    void give(const PlanPart& part);
    void run(const ForwardSettings& settings, std::size_t first, std::size_t end, Tap<Scalar>& tap);
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
