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

/// The stages of one part of the plan, one after the other, from the recorded numbers of what it reads, which `part` has to have and which
/// has to outlive this. Only what later stages of the part read is held. Throws as forward() does.
template <class Scalar>
class PartOfReference {
public:
    PartOfReference(const Trace<Scalar>& part, const PlanPart& place, std::stop_token stop = {}, Rounding rounding = Rounding::None);
    ~PartOfReference();
    PartOfReference(const PartOfReference&) = delete;
    PartOfReference& operator=(const PartOfReference&) = delete;
    /// The next stage, valid until the next call; null after the last one.
    const ReferenceStage* next();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace attn::reference
