#include "engine/plan/stage.hpp"

#include <array>
#include <charconv>

namespace attn {
namespace {

struct StageText {
    std::string_view name;
    std::string_view symbol;
};

constexpr std::array<StageText, kStageCount> kStages = {{
    {"tokens", "tokens"},
    {"token_embedding", "E"},
    {"position_embedding", "P"},
    {"embedding", "E+P"},
    {"norm_1", "norm"},
    {"q", "Q"},
    {"k", "K"},
    {"v", "V"},
    {"scores", "QKᵀ"},
    {"scaled", "÷√d"},
    {"masked", "mask"},
    {"weights", "softmax"},
    {"dropped", "dropout"},
    {"context", "AV"},
    {"concat", "concat"},
    {"attention_out", "·Wₒ"},
    {"residual_1", "+x"},
    {"cross_norm", "norm"},
    {"cross_q", "Q"},
    {"cross_k", "K"},
    {"cross_v", "V"},
    {"cross_scores", "QKᵀ"},
    {"cross_scaled", "÷√d"},
    {"cross_masked", "mask"},
    {"cross_weights", "softmax"},
    {"cross_dropped", "dropout"},
    {"cross_context", "AV"},
    {"cross_concat", "concat"},
    {"cross_attention_out", "·Wₒ"},
    {"cross_residual", "+x"},
    {"norm_2", "norm"},
    {"ffn_hidden", "·W₁"},
    {"ffn_activation", "act"},
    {"ffn_out", "·W₂"},
    {"residual_2", "+x"},
    {"final_norm", "norm"},
    {"logits", "logits"},
    {"probabilities", "p"},
}};

constexpr std::string_view kCrossPrefix = "cross_";

/// True for the stages whose tensors live under "attention." or "cross_attention.".
bool is_attention_stage(Stage stage) {
    const Stage self = to_self(stage);
    return self >= Stage::Q && self <= Stage::Concat;
}

bool consume(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

}  // namespace

std::string_view stage_name(Stage stage) { return kStages[static_cast<std::size_t>(stage)].name; }
std::string_view stage_symbol(Stage stage) { return kStages[static_cast<std::size_t>(stage)].symbol; }

std::string_view linear_subscript(Stage stage) {
    switch (to_self(stage)) {
    case Stage::Q:
        return "Q";
    case Stage::K:
        return "K";
    case Stage::V:
        return "V";
    case Stage::AttentionOut:
        return "O";
    case Stage::FfnHidden:
        return "1";
    case Stage::FfnOut:
        return "2";
    case Stage::Logits:
        return "head";
    default:
        return "";
    }
}

std::optional<Stage> stage_from_name(std::string_view name) {
    for (int i = 0; i < kStageCount; ++i)
        if (kStages[static_cast<std::size_t>(i)].name == name) return static_cast<Stage>(i);
    return std::nullopt;
}

bool is_layer_stage(Stage stage) { return stage >= Stage::Norm1 && stage <= Stage::Residual2; }
bool is_cross(Stage stage) { return stage >= Stage::CrossNorm && stage <= Stage::CrossResidual; }
bool is_probability(Stage stage) { return to_self(stage) == Stage::Weights || stage == Stage::Probabilities; }

bool is_attention_map(Stage stage) {
    const Stage self = to_self(stage);
    return self >= Stage::Scores && self <= Stage::Dropped;
}

namespace {
constexpr int kCrossOffset = static_cast<int>(Stage::CrossNorm) - static_cast<int>(Stage::Norm1);
}

Stage to_cross(Stage stage) {
    return stage >= Stage::Norm1 && stage <= Stage::Residual1 ? static_cast<Stage>(static_cast<int>(stage) + kCrossOffset) : stage;
}

Stage to_self(Stage stage) { return is_cross(stage) ? static_cast<Stage>(static_cast<int>(stage) - kCrossOffset) : stage; }

std::string tensor_name(const StageId& id) {
    std::string out;
    if (id.stack == Stack::Encoder) out = "encoder.";
    if (id.stack == Stack::Decoder) out = "decoder.";
    if (id.layer >= 0) out += "layers." + std::to_string(id.layer) + ".";
    std::string_view name = stage_name(id.stage);
    if (is_attention_stage(id.stage)) {
        out += is_cross(id.stage) ? "cross_attention." : "attention.";
        if (is_cross(id.stage)) name.remove_prefix(kCrossPrefix.size());
    }
    return out.append(name);
}

std::optional<StageId> stage_from_tensor_name(std::string_view name) {
    StageId id;
    std::string_view rest = name;
    if (consume(rest, "encoder.")) id.stack = Stack::Encoder;
    else if (consume(rest, "decoder.")) id.stack = Stack::Decoder;
    if (consume(rest, "layers.")) {
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), id.layer);
        if (error != std::errc() || end == rest.data() + rest.size() || *end != '.') return std::nullopt;
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()) + 1);
    }
    const bool cross = consume(rest, "cross_attention.");
    if (!cross) consume(rest, "attention.");
    const std::optional<Stage> stage = stage_from_name(std::string(cross ? kCrossPrefix : "").append(rest));
    if (!stage || is_layer_stage(*stage) != (id.layer >= 0)) return std::nullopt;
    id.stage = *stage;
    if (tensor_name(id) != name) return std::nullopt;  // one spelling only
    return id;
}

}  // namespace attn
