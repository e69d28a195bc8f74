#pragma once
/// What a forward pass computes, without any of its numbers: the plan, its inputs and its settings.

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/attention/mask.hpp"
#include "engine/plan/config.hpp"
#include "engine/plan/mistake.hpp"
#include "engine/plan/plan.hpp"
#include "engine/plan/stage.hpp"
#include "engine/plan/stage_shape.hpp"
#include "engine/tensor/token_batch.hpp"
#include "engine/trace/edit.hpp"

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

struct Structure {
    Config config;
    std::shared_ptr<const Plan> plan;  ///< of `config`, including the mistake
    ForwardSettings settings;
    TokenBatch tokens;         ///< input of the Main or Decoder stack
    TokenBatch source_tokens;  ///< input of the Encoder stack; empty without one

    /// The input of a stack.
    const TokenBatch& tokens_of(Stack stack) const { return stack == Stack::Encoder ? source_tokens : tokens; }
    /// What the encoder of an encoder-decoder reads; null for a model of one stack.
    const TokenBatch* source() const { return config.architecture == Architecture::EncoderDecoder ? &source_tokens : nullptr; }
    /// Shape of any stage of the model, recorded or not. Throws Error naming the stage if the model does not have it.
    Shape shape_of(const StageId& id) const {
        return stage_shape(config, plan->at(id), {tokens.size(), tokens.length, source_tokens.length});
    }
};

}  // namespace attn
