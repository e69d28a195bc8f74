#include "engine/plan/stage.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace attn {
namespace {

struct StageText {
    std::string_view name;
    std::string_view symbol;
    std::uint64_t key;
};

constexpr std::array<StageText, kStageCount> kStages = {{
    {"tokens", "tokens", 0},
    {"token_embedding", "E", 1},
    {"position_embedding", "P", 2},
    {"segment_embedding", "S", 52},
    {"embedding_in", "·W_in", 42},
    {"embedding", "E+P", 3},
    {"embedding_norm", "norm", 43},
    {"norm_1", "norm", 4},
    {"q", "Q", 5},
    {"k", "K", 6},
    {"v", "V", 7},
    {"q_normed", "norm Q", 44},
    {"k_normed", "norm K", 45},
    {"q_rotated", "rotate Q", 38},
    {"k_rotated", "rotate K", 39},
    {"scores", "QKᵀ", 8},
    {"scaled", "÷√d", 9},
    {"capped", "cap", 46},
    {"biased", "− distance", 47},
    {"masked", "mask", 10},
    {"weights", "softmax", 11},
    {"dropped", "dropout", 12},
    {"context", "AV", 13},
    {"concat", "concat", 14},
    {"attention_out", "·Wₒ", 15},
    {"attention_norm", "norm", 48},
    {"residual_1", "+x", 16},
    {"cross_norm", "norm", 17},
    {"cross_q", "Q", 18},
    {"cross_k", "K", 19},
    {"cross_v", "V", 20},
    {"cross_scores", "QKᵀ", 21},
    {"cross_scaled", "÷√d", 22},
    {"cross_masked", "mask", 23},
    {"cross_weights", "softmax", 24},
    {"cross_dropped", "dropout", 25},
    {"cross_context", "AV", 26},
    {"cross_concat", "concat", 27},
    {"cross_attention_out", "·Wₒ", 28},
    {"cross_residual", "+x", 29},
    {"norm_2", "norm", 30},
    {"ffn_gate", "·W_g", 40},
    {"ffn_hidden", "·W₁", 31},
    {"ffn_activation", "act", 32},
    {"ffn_gated", "gate", 41},
    {"ffn_out", "·W₂", 33},
    {"ffn_norm", "norm", 49},
    {"residual_2", "+x", 34},
    {"final_norm", "norm", 35},
    {"head_hidden", "·W_h", 53},
    {"head_activation", "act", 54},
    {"head_norm", "norm", 55},
    {"head_scaled", "scale", 56},
    {"head_in", "·W_out", 50},
    {"logits", "logits", 36},
    {"logits_capped", "cap", 51},
    {"probabilities", "p", 37},
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

std::optional<LinearMap> linear_map(Stage stage) {
    // Without a default, so that a new stage does not compile until it is listed.
    switch (stage) {
    case Stage::EmbeddingIn:
        return LinearMap::EmbeddingIn;
    case Stage::Q:
    case Stage::CrossQ:
        return LinearMap::Q;
    case Stage::K:
    case Stage::CrossK:
        return LinearMap::K;
    case Stage::V:
    case Stage::CrossV:
        return LinearMap::V;
    case Stage::AttentionOut:
    case Stage::CrossAttentionOut:
        return LinearMap::AttentionOut;
    case Stage::FfnGate:
        return LinearMap::FfnGate;
    case Stage::FfnHidden:
        return LinearMap::FfnHidden;
    case Stage::FfnOut:
        return LinearMap::FfnOut;
    case Stage::HeadHidden:
        return LinearMap::HeadHidden;
    case Stage::HeadIn:
        return LinearMap::HeadIn;
    case Stage::Logits:
        return LinearMap::Logits;
    case Stage::Tokens:
    case Stage::TokenEmbedding:
    case Stage::PositionEmbedding:
    case Stage::SegmentEmbedding:
    case Stage::Embedding:
    case Stage::EmbeddingNorm:
    case Stage::Norm1:
    case Stage::QNormed:
    case Stage::KNormed:
    case Stage::QRotated:
    case Stage::KRotated:
    case Stage::Scores:
    case Stage::Scaled:
    case Stage::Capped:
    case Stage::Biased:
    case Stage::Masked:
    case Stage::Weights:
    case Stage::Dropped:
    case Stage::Context:
    case Stage::Concat:
    case Stage::AttentionNorm:
    case Stage::Residual1:
    case Stage::CrossNorm:
    case Stage::CrossScores:
    case Stage::CrossScaled:
    case Stage::CrossMasked:
    case Stage::CrossWeights:
    case Stage::CrossDropped:
    case Stage::CrossContext:
    case Stage::CrossConcat:
    case Stage::CrossResidual:
    case Stage::Norm2:
    case Stage::FfnActivation:
    case Stage::FfnGated:
    case Stage::FfnNorm:
    case Stage::Residual2:
    case Stage::FinalNorm:
    case Stage::HeadActivation:
    case Stage::HeadNorm:
    case Stage::HeadScaled:
    case Stage::LogitsCapped:
    case Stage::Probabilities:
        break;
    }
    return std::nullopt;
}

std::string_view linear_subscript(Stage stage) {
    const std::optional<LinearMap> map = linear_map(stage);
    if (!map) return "";
    switch (*map) {
    case LinearMap::EmbeddingIn:
        return "in";
    case LinearMap::Q:
        return "Q";
    case LinearMap::K:
        return "K";
    case LinearMap::V:
        return "V";
    case LinearMap::AttentionOut:
        return "O";
    case LinearMap::FfnGate:
        return "g";
    case LinearMap::FfnHidden:
        return "1";
    case LinearMap::FfnOut:
        return "2";
    case LinearMap::HeadHidden:
        return "h";
    case LinearMap::HeadIn:
        return "out";
    case LinearMap::Logits:
        return "head";
    }
    return "";
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
/// The self-attention counterparts of the cross-attention stages, in their order.
constexpr std::array kSelfOfCross = {Stage::Norm1,    Stage::Q,       Stage::K,       Stage::V,       Stage::Scores, Stage::Scaled,
                                     Stage::Masked,   Stage::Weights, Stage::Dropped, Stage::Context, Stage::Concat, Stage::AttentionOut,
                                     Stage::Residual1};
}  // namespace

Stage to_cross(Stage stage) {
    const auto found = std::find(kSelfOfCross.begin(), kSelfOfCross.end(), stage);
    return found == kSelfOfCross.end() ? stage : static_cast<Stage>(static_cast<int>(Stage::CrossNorm) + (found - kSelfOfCross.begin()));
}

Stage to_self(Stage stage) {
    return is_cross(stage) ? kSelfOfCross[static_cast<std::size_t>(stage) - static_cast<std::size_t>(Stage::CrossNorm)] : stage;
}

StageId of_same_attention(StageId id, Stage self) {
    id.stage = is_cross(id.stage) ? to_cross(self) : self;
    return id;
}

StageId weights_of(const StageId& id) { return of_same_attention(id, Stage::Weights); }

std::uint64_t stage_key(Stage stage) { return kStages[static_cast<std::size_t>(stage)].key; }

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
    if (tensor_name(id) != name) return std::nullopt;  // accept one spelling only
    return id;
}

}  // namespace attn
