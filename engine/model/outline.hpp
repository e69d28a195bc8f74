#pragma once
/// Traces that hold little: the residual stream, and keys and values, of every layer, from which the inside of a layer is computed again
/// when somebody looks at it. All bits are those of a trace that holds everything.

#include <memory>
#include <stop_token>
#include <vector>

#include "engine/model/pass_masks.hpp"
#include "engine/model/program.hpp"
#include "engine/trace/tap.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// The outline of what trace_forward() returns, in the memory of one layer beside it. `each` (may be empty) sees every stage before it is
/// gone; what comes after the layers is not computed. Throws as trace_forward() does.
template <class Scalar>
Trace<Scalar> trace_outline(std::shared_ptr<const Parameters<Scalar>> parameters, const TokenBatch& tokens, const TokenBatch& source,
                            const ForwardSettings& settings, const StageObserver<Scalar>& each = {}, std::stop_token stop = {});

/// Computes what a trace left out, or what has changed in it.
template <class Scalar>
class Recomputation {
public:
    /// Of a trace or an outline, which is kept as long as this.
    explicit Recomputation(std::shared_ptr<const Trace<Scalar>> trace);
    Recomputation(const Recomputation&) = delete;
    Recomputation& operator=(const Recomputation&) = delete;

    /// All stages of the layer that has this one, in their order; or those before the layers, or after them. Throws Error for a stage that
    /// the model does not have, Cancelled once `stop` is requested.
    std::vector<RecordedStage<Scalar>> stages_around(const StageId& id, std::stop_token stop = {});

    /// The trace with other edits: what comes before the first stage where they differ is taken over, the rest computed. An outline stays
    /// one. Throws as trace_forward() does.
    Trace<Scalar> with_edits(std::vector<Edit> edits, std::stop_token stop = {});

private:
    /// A part of the plan between two states of the residual stream.
    struct Part {
        std::size_t first, end;  ///< places
        const StageId* stream;   ///< what it begins with, null for the tokens
    };
    Part part_of(std::size_t place) const;
    void give(const Part& part);
    void run(const ForwardSettings& settings, std::size_t first, std::size_t end, Tap<Scalar>& tap);

    std::shared_ptr<const Trace<Scalar>> trace_;
    Weights weights_;
    Plan plan_;
    std::vector<StageId> streams_;
    MaskBuilder mask_builder_;
    Program<Scalar> program_;
};

}  // namespace attn
