#pragma once
/// Everything one forward pass computed: an immutable list of stages in the order of computation.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/attention/mask.hpp"
#include "engine/plan/config.hpp"
#include "engine/plan/mistake.hpp"
#include "engine/plan/plan.hpp"
#include "engine/plan/stage.hpp"
#include "engine/plan/stage_shape.hpp"
#include "engine/tensor/tensor.hpp"
#include "engine/tensor/token_batch.hpp"
#include "engine/trace/edit.hpp"
#include "engine/trace/reduced_map.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {

/// Dropout of one forward pass; rates in [0, 1]. A rate of 1 gives zeros. Rate 0 is the identity, bit for bit.
struct DropoutSettings {
    double attention = 0;
    double residual = 0;
    double embedding = 0;
    std::uint64_t seed = 0;
    bool operator==(const DropoutSettings&) const = default;
};

/// What besides parameters and text decides a forward pass.
struct ForwardSettings {
    MaskSettings masks;
    double temperature = 1;  ///< weights = softmax(masked / temperature); > 0
    DropoutSettings dropout;
    std::vector<Edit> edits;          ///< applied in their order
    Mistake mistake = Mistake::None;  ///< what the pass gets wrong, on purpose
    bool operator==(const ForwardSettings&) const = default;
};

struct EditMarks;

template <class Scalar>
struct RecordedStage {
    StageId id;
    Tensor<Scalar> value;
    /// For masked, weights and dropped: which cells are masked. Null for every other stage.
    std::shared_ptr<const Mask> mask{};
    /// Which cells were set by an edit; null when none was, and for gradients.
    std::shared_ptr<const EditMarks> edited{};
    /// Of a map of a long text this head may be all that was kept: `value` is then [1,1,T,S]. None: all heads are there.
    std::optional<std::int64_t> only_head{};

    /// Where a head lies in `value`.
    std::int64_t place_of_head(std::int64_t head) const { return only_head ? head - *only_head : head; }
};

template <class Scalar>
struct Trace {
    Config config;
    std::shared_ptr<const Plan> plan;  ///< of the configuration, with the mistake that is made
    ForwardSettings settings;
    TokenBatch tokens;         ///< input of the Main or Decoder stack
    TokenBatch source_tokens;  ///< input of the Encoder stack; empty without one
    std::shared_ptr<const Parameters<Scalar>> parameters;
    std::vector<RecordedStage<Scalar>> stages;
    /// Of maps of a long text that are not among the stages: of all of each.
    std::vector<ReducedMap> reduced;

    /// Every stage of the plan was recorded.
    bool whole() const { return plan == nullptr || stages.size() == plan->nodes().size(); }
    /// Of a stage that the model has, recorded or not. Throws Error naming it when the model does not have it.
    Shape shape_of(const StageId& id) const {
        return stage_shape(config, plan->at(id), {tokens.size(), tokens.length, source_tokens.length});
    }
    /// nullptr when the stage was not recorded, or not all of its heads.
    const RecordedStage<Scalar>* find(const StageId& id) const {
        for (const auto& stage : stages)
            if (stage.id == id && !stage.only_head) return &stage;
        return nullptr;
    }
    /// For whoever looks at one head alone: the stage, or where only that head was recorded this (see RecordedStage::place_of_head).
    const RecordedStage<Scalar>* find(const StageId& id, std::int64_t head) const {
        for (const auto& stage : stages)
            if (stage.id == id && (!stage.only_head || stage.only_head == head)) return &stage;
        return nullptr;
    }
    /// nullptr where there is none.
    const ReducedMap* reduced_map(const StageId& id) const {
        for (const ReducedMap& map : reduced)
            if (map.id == id) return &map;
        return nullptr;
    }
};

}  // namespace attn
