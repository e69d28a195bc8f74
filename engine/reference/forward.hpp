#pragma once
/// A whole model's forward pass in plain double loops, against which all other computations are checked.

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "engine/reference/permissions.hpp"
#include "engine/tensor/token_batch.hpp"
#include "engine/trace/trace.hpp"
#include "engine/weights/parameters.hpp"

namespace attn::reference {

struct ReferenceStage {
    StageId id;
    Tensor<double> value;
    /// For masked, weights and dropped: the cells that may attend. Null for every other stage.
    std::shared_ptr<const Permissions> permissions;
};

/// What is done to a stage's numbers before the next stage reads them.
enum class Rounding : std::uint8_t {
    None,
    EveryStageToFloat,  ///< the minimum that any float computation does; shows how the model amplifies rounding errors
};

/// Every stage in order of computation, like trace_forward(). `source` is read by encoder-decoders only. Throws ShapeError for a batch with
/// inconsistent sizes, Error for a token id outside the vocabulary, Cancelled once `stop` is requested.
template <class Scalar>
std::vector<ReferenceStage> forward(const Parameters<Scalar>& parameters, const TokenBatch& tokens, const TokenBatch& source,
                                    const ForwardSettings& settings, std::stop_token stop = {}, Rounding rounding = Rounding::None);

/// Positions of a stage; by default all.
struct Rows {
    std::int64_t first = 0, count = -1;
    bool all() const { return count < 0; }
    bool operator==(const Rows&) const = default;
};

/// Computes the stages of one part of the plan from recorded stages that it reads, which `outline` must contain. `outline` must outlive
/// this. Ask for stages in plan order, and for rows in order of positions: whatever is not needed for later stages is discarded. Throws
/// like forward().
template <class Scalar>
class PartOfReference {
public:
    PartOfReference(const Trace<Scalar>& outline, const PlanPart& place, std::stop_token stop = {}, Rounding rounding = Rounding::None);
    ~PartOfReference();
    PartOfReference(const PartOfReference&) = delete;
    PartOfReference& operator=(const PartOfReference&) = delete;
    /// A stage of the part, valid until the next call. `rows` may be restricted for a single text in a decoder-only model without dropout
    /// and without edits that copy another row.
    const ReferenceStage& stage(const StageId& id, const Rows& rows = {});

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace attn::reference
