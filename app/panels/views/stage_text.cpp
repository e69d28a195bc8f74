/// The words that go with every stage: its formula and one or two plain sentences.

#include <fmt/format.h>

#include "app/panels/views/equation.hpp"
#include "app/widgets/number.hpp"

namespace attn::app {
namespace {

std::string norm_sentence(const Trace<float>& trace) {
    return fmt::format("Every row is shifted to mean 0 and scaled to variance 1 (ε = {}), then multiplied by γ and shifted by β.",
                       format_exact(static_cast<float>(trace.config.layer_norm_eps)));
}

std::string masked_sentence(const MaskSettings& masks, bool cross) {
    std::string rules;
    const auto add = [&](const std::string& rule) { rules += (rules.empty() ? "" : "; ") + rule; };
    if (masks.causal && !cross)
        add(masks.prefix > 0 ? fmt::format("causal with a prefix of {}", masks.prefix) : "causal: a token attends to itself and the past");
    if (masks.padding) add("no token attends to padding");
    if (masks.window > 0 && !cross) add(fmt::format("window of {}", masks.window));
    if (masks.block > 0 && !cross) add(fmt::format("blocks of {}", masks.block));
    if (!masks.painted.empty() && !cross) add("cells painted by hand");
    if (rules.empty()) return "No mask is active: every query may attend to every key.";
    return "Hatched cells may not be attended to; the softmax never sees them. Active: " + rules + ".";
}

std::string residual_sentence() { return "The sublayer's result is added to its input, so nothing is lost."; }

std::string positions_sentence(PositionKind kind) {
    return kind == PositionKind::Sinusoidal ? "Every position has its own pattern of sines and cosines, the same for every text."
                                            : "Every position has its own learned vector: a row of a table, the same for every text.";
}

std::string weights_formula(const ForwardSettings& settings) {
    return settings.temperature == 1 ? "A = softmax(masked)" : fmt::format("A = softmax(masked ÷ {:g})", settings.temperature);
}

std::string dropped_sentence(const DropoutSettings& dropout) {
    if (dropout.attention <= 0) return "Dropout is off: the weights pass unchanged.";
    return fmt::format("Each weight is set to 0 with probability {:g}; the others are divided by {:g}. So rows no longer sum to 1.",
                       dropout.attention, 1 - dropout.attention);
}

StageText attention_text(const Trace<float>& trace, Stage self, bool cross) {
    const Config& config = trace.config;
    const char* source = cross ? "the memory" : "the input";
    switch (self) {
    case Stage::Q:
        return {"q", config.qkv_bias ? "Q = X W_Q + b" : "Q = X W_Q", "What each token looks for: its vector times W_Q of this head."};
    case Stage::K:
        return {"k", config.qkv_bias ? "K = X W_K + b" : "K = X W_K",
                fmt::format("What each token offers to be matched by: {} times W_K of this head.", source)};
    case Stage::V:
        return {"v", config.qkv_bias ? "V = X W_V + b" : "V = X W_V",
                fmt::format("What each token passes on when attended to: {} times W_V of this head.", source)};
    case Stage::Scores:
        return {"scores", "scores = Q Kᵀ", "Every query is compared with every key: one dot product for each pair."};
    case Stage::Scaled:
        return {"scaled", fmt::format("scaled = scores ÷ √{}", config.head_size()),
                "Dot products grow with the number of dimensions; dividing by √d_head keeps the softmax from saturating."};
    case Stage::Masked:
        return {"masked", "masked = scaled, or −∞", masked_sentence(trace.settings.masks, cross)};
    case Stage::Weights:
        return {"weights", weights_formula(trace.settings),
                "Each row becomes a distribution over the keys: exponentials divided by their sum."};
    case Stage::Dropped:
        return {"dropped", "dropped = dropout(A)", dropped_sentence(trace.settings.dropout)};
    case Stage::Context:
        return {"context", "context = A V", "Each token receives the mixture of value vectors given by its row of weights."};
    case Stage::Concat:
        return {"concat", "concat = head 0 ‖ head 1 ‖ …",
                config.num_heads == 1 ? "Only one head: the context unchanged." : "The heads' contexts are concatenated."};
    default:
        return {"attention_out", config.output_bias ? "out = concat W_O + b" : "out = concat W_O",
                "One more matrix mixes the heads' results."};
    }
}

StageText model_text(const Trace<float>& trace, Stage stage) {
    const Config& config = trace.config;
    switch (stage) {
    case Stage::Tokens:
        return {"tokens", "text → ids", "The text is split into tokens; each becomes its number in the vocabulary."};
    case Stage::TokenEmbedding:
        return {"token_embedding", "E = onehot(id) W_E", "A lookup: row id of the table, the same as the one-hot row times the table."};
    case Stage::PositionEmbedding:
        return {"position_embedding", "P = P[0…T−1]", positions_sentence(config.position)};
    case Stage::Embedding:
        return {"embedding", config.position == PositionKind::None ? "X = E" : "X = E + P",
                config.position == PositionKind::None ? "No positions are added: the model cannot know the order."
                                                      : "What the token is plus where it is."};
    case Stage::FfnHidden:
        return {"ffn_hidden", "hidden = X W₁ + b", "Each token on its own: its vector is mapped to a wider one."};
    case Stage::FfnActivation:
        switch (config.activation) {
        case Activation::Relu:
            return {"ffn_activation", "ReLU(x) = max(x, 0)", "Negative numbers become 0, so hidden units can switch off."};
        case Activation::GeluErf:
            return {"ffn_activation", "GELU(x) = x Φ(x)", "Negative numbers fade out smoothly, so hidden units can switch off."};
        default:
            return {"ffn_activation", "GELU(x) ≈ x Φ(x), by tanh", "Negative numbers fade out smoothly, so hidden units can switch off."};
        }
    case Stage::FfnOut:
        return {"ffn_out", "out = act W₂ + b", "The active hidden units each add their own vector."};
    case Stage::Logits:
        return {"logits", config.tied_lm_head ? "logits = X W_Eᵀ" : "logits = X W_U",
                "Each token's final vector is compared with every token of the vocabulary."};
    default:
        return {"probabilities", "p = softmax(logits)", "What the model expects after every token."};
    }
}

}  // namespace

StageText text_of(const Trace<float>& trace, const StageId& id) {
    const Stage self = to_self(id.stage);
    StageText text;
    if (self == Stage::Norm1 || self == Stage::Norm2 || self == Stage::FinalNorm)
        text = {"", "y = γ (x − μ) ÷ √(σ² + ε) + β", norm_sentence(trace)};
    else if (self == Stage::Residual1 || self == Stage::Residual2) text = {"", "x = x + sublayer", residual_sentence()};
    else if (self >= Stage::Q && self <= Stage::AttentionOut) text = attention_text(trace, self, is_cross(id.stage));
    else text = model_text(trace, id.stage);
    text.title = stage_name(id.stage);
    return text;
}

}  // namespace attn::app
