#pragma once
/// Traces that hold little: the residual stream, and keys and values, of every layer, from which the inside of a layer is computed again
/// when somebody looks at it. All bits are those of a trace that holds everything.

#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "engine/model/layer_in_rows.hpp"
#include "engine/model/pass_masks.hpp"
#include "engine/model/program.hpp"
#include "engine/trace/tap.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// How little an outline takes.
struct OutlineMemory {
    /// Keys and values are held, so that a text can be continued without computing them again.
    bool attended = true;
    /// So many positions are computed at a time, where that is possible; 0: as many as take a few MiB.
    std::int64_t rows = 0;
};

/// What an outline holds: the residual streams, keys and values (`attended`), and what a decoder attends to.
std::vector<StageId> outline_stages(const Plan& plan, bool attended = true);

/// The outline of what trace_forward() returns, in the memory of one layer beside it, or of a few positions of one (see LayerInRows).
/// `each` sees every stage before it is gone, unless it is empty: then all positions are computed at once. What comes after the layers is
/// not computed. Throws as trace_forward() does.
template <class Scalar>
Trace<Scalar> trace_outline(std::shared_ptr<const Parameters<Scalar>> parameters, const TokenBatch& tokens, const TokenBatch& source,
                            const ForwardSettings& settings, const StageObserver<Scalar>& each = {}, std::stop_token stop = {},
                            const OutlineMemory& memory = {});

/// Shows the stages of all layers of an outline of which can_compute_in_rows() is true, some positions at a time; attention maps only where
/// they are edited.
template <class Scalar>
void show_layers_in_rows(const Trace<Scalar>& outline, const RowsObserver<Scalar>& each, std::stop_token stop = {});

/// How many of the first positions of `tokens` have in an outline the numbers that they have in the outline of `tokens`: those that both
/// texts begin with, in a decoder-only model under the causal mask alone (see can_cache()). 0 where there are several texts.
template <class Scalar>
std::int64_t positions_kept(const Trace<Scalar>& outline, const TokenBatch& tokens);

/// The outline of another text, which holds what this one does: only the positions behind positions_kept() are computed, and of those
/// before keys and values, where the outline has none. Throws as trace_forward() does.
template <class Scalar>
Trace<Scalar> continue_outline(const Trace<Scalar>& outline, const TokenBatch& tokens, std::stop_token stop = {});

/// Computes what a trace left out, or what has changed in it.
template <class Scalar>
class Recomputation {
public:
    /// Of a trace or an outline, which is kept as long as this. Keep::OneLayer saves memory where most stages are only shown.
    explicit Recomputation(std::shared_ptr<const Trace<Scalar>> trace, Keep keep = Keep::Everything);
    Recomputation(const Recomputation&) = delete;
    Recomputation& operator=(const Recomputation&) = delete;

    /// All stages of the layer that has this one, in their order; or those before the layers, or after them. Throws Error for a stage that
    /// the model does not have, Cancelled once `stop` is requested.
    std::vector<RecordedStage<Scalar>> stages_around(const StageId& id, std::stop_token stop = {});
    /// The same as a trace, with what these stages are computed from before them; only those that are wanted, where somebody says which.
    Trace<Scalar> trace_around(const StageId& id, std::stop_token stop = {}, const std::function<bool(const StageId&)>& wanted = {});
    /// Shows the same stages one after the other, and keeps none.
    void show_around(const StageId& id, const StageObserver<Scalar>& each, std::stop_token stop = {});
    /// Shows the same stages some positions at a time where that is possible: then each stage several times, in the order of positions.
    /// `rows` as in OutlineMemory.
    void show_rows_around(const StageId& id, const RowsObserver<Scalar>& each, std::stop_token stop = {}, std::int64_t rows = 0);

    /// The trace with other edits: what comes before the first stage where they differ is taken over, the rest computed. An outline stays
    /// one, some positions at a time where that is possible (`rows` as in OutlineMemory). Throws as trace_forward() does.
    Trace<Scalar> with_edits(std::vector<Edit> edits, std::stop_token stop = {}, std::int64_t rows = 0);

private:
    std::vector<const RecordedStage<Scalar>*> read_by(const PlanPart& part) const;
    void give(const PlanPart& part);
    void run(const ForwardSettings& settings, std::size_t first, std::size_t end, Tap<Scalar>& tap);

    std::shared_ptr<const Trace<Scalar>> trace_;
    Weights weights_;
    Plan plan_;
    MaskBuilder mask_builder_;
    Program<Scalar> program_;
};

}  // namespace attn
