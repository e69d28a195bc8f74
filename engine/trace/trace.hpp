#pragma once
/// Everything a forward pass computed: an immutable list of stages in order of computation.

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

/// Dropout rates of a forward pass, in [0, 1]. Rate 1 gives zeros; rate 0 is exactly the identity.
struct DropoutSettings {
    double attention = 0;
    double residual = 0;
    double embedding = 0;
    std::uint64_t seed = 0;
    bool operator==(const DropoutSettings&) const = default;
};

/// Everything besides parameters and text that determines a forward pass.
struct ForwardSettings {
    MaskSettings masks;
    double temperature = 1;  ///< weights = softmax(masked / temperature); > 0
    DropoutSettings dropout;
    std::vector<Edit> edits;          ///< applied in this order
    Mistake mistake = Mistake::None;  ///< made on purpose

    bool mistaken() const { return mistake != Mistake::None; }
    bool operator==(const ForwardSettings&) const = default;
};

struct EditMarks;

template <class Scalar>
struct RecordedStage {
    StageId id;
    Tensor<Scalar> value;
    /// For masked, weights and dropped: which cells are masked. Null for every other stage.
    std::shared_ptr<const Mask> mask{};
    /// Which cells were set by an edit; null if none, and for gradients.
    std::shared_ptr<const EditMarks> edited{};
    /// The only head recorded of a long text's map, in which case `value` is [1,1,T,S]; none: all heads.
    std::optional<std::int64_t> only_head{};

    /// Index of a head in `value`.
    std::int64_t place_of_head(std::int64_t head) const { return only_head ? head - *only_head : head; }
};

template <class Scalar>
struct Trace {
    Config config;
    std::shared_ptr<const Plan> plan;  ///< of `config`, including the mistake
    ForwardSettings settings;
    TokenBatch tokens;         ///< input of the Main or Decoder stack
    TokenBatch source_tokens;  ///< input of the Encoder stack; empty without one
    std::shared_ptr<const Parameters<Scalar>> parameters;
    std::vector<RecordedStage<Scalar>> stages;
    /// Reduced maps of a long text, which are not among `stages`; they cover whole maps.
    std::vector<ReducedMap> reduced;

    /// The input of a stack.
    const TokenBatch& tokens_of(Stack stack) const { return stack == Stack::Encoder ? source_tokens : tokens; }
    /// Whether every stage of the plan was recorded.
    bool whole() const { return plan == nullptr || stages.size() == plan->nodes().size(); }
    /// What the encoder of an encoder-decoder reads; null for a model of one stack.
    const TokenBatch* source() const { return config.architecture == Architecture::EncoderDecoder ? &source_tokens : nullptr; }
    /// Shape of any stage of the model, recorded or not. Throws Error naming the stage if the model does not have it.
    Shape shape_of(const StageId& id) const {
        return stage_shape(config, plan->at(id), {tokens.size(), tokens.length, source_tokens.length});
    }
    /// nullptr if the stage was not recorded with all its heads.
    const RecordedStage<Scalar>* find(const StageId& id) const {
        for (const auto& stage : stages)
            if (stage.id == id && !stage.only_head) return &stage;
        return nullptr;
    }
    /// The stage if it has this head: recorded with all heads or with this one only (see RecordedStage::place_of_head).
    const RecordedStage<Scalar>* find(const StageId& id, std::int64_t head) const {
        for (const auto& stage : stages)
            if (stage.id == id && (!stage.only_head || stage.only_head == head)) return &stage;
        return nullptr;
    }
    /// nullptr if there is none.
    const ReducedMap* reduced_map(const StageId& id) const {
        for (const ReducedMap& map : reduced)
            if (map.id == id) return &map;
        return nullptr;
    }
};

}  // namespace attn
