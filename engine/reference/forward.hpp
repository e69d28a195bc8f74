#pragma once
/// A whole model's forward pass in plain double loops: what every other computation of the engine is held against.

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
    /// For masked, weights and dropped: who may attend to whom. Null for every other stage.
    std::shared_ptr<const Permissions> permissions;
};

/// What happens to each stage's numbers before the next one reads them.
enum class Rounding : std::uint8_t {
    None,
    EveryStageToFloat,  ///< the least that any computation in float does: shows how far a model carries rounding errors
};

/// Every stage in the order of computation, as trace_forward() records them. `source` is read by encoder-decoders only.
/// Throws ShapeError for a batch whose sizes disagree, Error for a token id outside the vocabulary, Cancelled once `stop` is requested.
template <class Scalar>
std::vector<ReferenceStage> forward(const Parameters<Scalar>& parameters, const TokenBatch& tokens, const TokenBatch& source,
                                    const ForwardSettings& settings, std::stop_token stop = {}, Rounding rounding = Rounding::None);

/// Positions of a stage; all of them unless said otherwise.
struct Rows {
    std::int64_t first = 0, count = -1;
    bool all() const { return count < 0; }
    bool operator==(const Rows&) const = default;
};

/// The stages of one part of the plan, from the recorded numbers of what it reads, which `outline` has to have and which has to outlive
/// this. Best asked in their order, and of some positions in the order of the positions: only what may be read later is held. Throws as
/// forward() does.
template <class Scalar>
class PartOfReference {
public:
    PartOfReference(const Trace<Scalar>& outline, const PlanPart& place, std::stop_token stop = {}, Rounding rounding = Rounding::None);
    ~PartOfReference();
    PartOfReference(const PartOfReference&) = delete;
    PartOfReference& operator=(const PartOfReference&) = delete;
    /// A stage of the part, valid until the next call. Some positions alone of one text in a decoder-only model, without dropout and rows
    /// that take another's.
    const ReferenceStage& stage(const StageId& id, const Rows& rows = {});

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace attn::reference
