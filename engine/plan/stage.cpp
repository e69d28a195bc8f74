#include "engine/plan/stage.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

namespace attn {
namespace {

struct StageText {
    std::string_view name;
    std::string_view symbol;
    std::uint64_t key;
    StageKind kind;
};

constexpr std::array<StageText, kStageCount> kStages = {{
    {"tokens", "tokens", 0, StageKind::Embedding},
    {"token_embedding", "E", 1, StageKind::Embedding},
    {"position_embedding", "P", 2, StageKind::Embedding},
    {"segment_embedding", "S", 52, StageKind::Embedding},
    {"embedding_in", "·W_in", 42, StageKind::Embedding},
    {"embedding", "E+P", 3, StageKind::Embedding},
    {"embedding_norm", "norm", 43, StageKind::Embedding},
    {"norm_1", "norm", 4, StageKind::Attention},
    {"q", "Q", 5, StageKind::Heads},
    {"k", "K", 6, StageKind::Heads},
    {"v", "V", 7, StageKind::Heads},
    {"q_normed", "norm Q", 44, StageKind::Heads},
    {"k_normed", "norm K", 45, StageKind::Heads},
    {"q_rotated", "rotate Q", 38, StageKind::Heads},
    {"k_rotated", "rotate K", 39, StageKind::Heads},
    {"scores", "QKᵀ", 8, StageKind::Map},
    {"scaled", "÷√d", 9, StageKind::Map},
    {"capped", "cap", 46, StageKind::Map},
    {"biased", "− distance", 47, StageKind::Map},
    {"masked", "mask", 10, StageKind::Map},
    {"softmax", "softmax", 57, StageKind::Map},
    {"weights", "softmax", 11, StageKind::Map},
    {"dropped", "dropout", 12, StageKind::Map},
    {"other", "", 58, StageKind::Map},
    {"context", "AV", 13, StageKind::Heads},
    {"concat", "concat", 14, StageKind::Attention},
    {"attention_out", "·Wₒ", 15, StageKind::Attention},
    {"attention_norm", "norm", 48, StageKind::Attention},
    {"residual_1", "+x", 16, StageKind::Attention},
    {"norm_2", "norm", 30, StageKind::FeedForward},
    {"ffn_gate", "·W_g", 40, StageKind::FeedForward},
    {"ffn_hidden", "·W₁", 31, StageKind::FeedForward},
    {"ffn_activation", "act", 32, StageKind::FeedForward},
    {"ffn_gated", "gate", 41, StageKind::FeedForward},
    {"ffn_out", "·W₂", 33, StageKind::FeedForward},
    {"ffn_norm", "norm", 49, StageKind::FeedForward},
    {"residual_2", "+x", 34, StageKind::FeedForward},
    {"final_norm", "norm", 35, StageKind::Output},
    {"head_hidden", "·W_h", 53, StageKind::Output},
    {"head_activation", "act", 54, StageKind::Output},
    {"head_norm", "norm", 55, StageKind::Output},
    {"head_scaled", "scale", 56, StageKind::Output},
    {"head_in", "·W_out", 50, StageKind::Output},
    {"logits", "logits", 36, StageKind::Output},
    {"logits_capped", "cap", 51, StageKind::Output},
    {"probabilities", "p", 37, StageKind::Output},
}};

const StageText& text_of(Stage stage) { return kStages[static_cast<std::size_t>(stage)]; }

/// The roles that cross-attention has, too. The rest is done to self-attention alone.
constexpr std::array kOfCross = {Stage::Norm1,    Stage::Q,       Stage::K,       Stage::V,       Stage::Scores, Stage::Scaled,
                                 Stage::Masked,   Stage::Weights, Stage::Dropped, Stage::Context, Stage::Concat, Stage::AttentionOut,
                                 Stage::Residual1};
/// The roles that recorded code alone has, in self- and cross-attention.
constexpr std::array kOfRecordings = {Stage::Softmax, Stage::Other};
constexpr std::string_view kCrossPrefix = "cross_";

/// True for the stages whose tensors live under "attention." or "cross_attention.".
bool is_inside_attention(Stage stage) {
    return stage_kind(stage) == StageKind::Heads || stage_kind(stage) == StageKind::Map || stage == Stage::Concat;
}

bool consume(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

}  // namespace

StageKind stage_kind(Stage stage) { return text_of(stage).kind; }

std::vector<StageId> every_stage() {
    std::vector<StageId> stages;
    for (int i = 0; i < kStageCount; ++i) {
        const Stage stage = static_cast<Stage>(i);
        if (std::find(kOfRecordings.begin(), kOfRecordings.end(), stage) != kOfRecordings.end()) continue;
        if (stage == Stage::Norm2)
            for (const Stage role : kOfCross) stages.push_back({role, 0, Stack::Main, kCrossAttention});
        stages.push_back({stage, is_layer_stage(stage) ? 0 : -1});
    }
    return stages;
}

bool same_role(const StageId& a, const StageId& b) { return a.stage == b.stage && a.attention == b.attention && a.nth == b.nth; }

int steps_between(Stage a, Stage b) { return std::abs(static_cast<int>(a) - static_cast<int>(b)); }

std::string stage_name(const StageId& id) {
    std::string name(text_of(id.stage).name);
    if (id.attention == kCrossAttention) {
        // It has one norm and one sum, which need no number.
        if (id.stage == Stage::Norm1) name = "norm";
        if (id.stage == Stage::Residual1) name = "residual";
        name.insert(0, kCrossPrefix);
    }
    return id.nth == 0 ? name : name + "." + std::to_string(id.nth);
}

std::string_view stage_symbol(Stage stage) { return text_of(stage).symbol; }

std::optional<LinearMap> linear_map(Stage stage) {
    // Without a default, so that a new stage does not compile until it is listed.
    switch (stage) {
    case Stage::EmbeddingIn:
        return LinearMap::EmbeddingIn;
    case Stage::Q:
        return LinearMap::Q;
    case Stage::K:
        return LinearMap::K;
    case Stage::V:
        return LinearMap::V;
    case Stage::AttentionOut:
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
    case Stage::Softmax:
    case Stage::Weights:
    case Stage::Dropped:
    case Stage::Other:
    case Stage::Context:
    case Stage::Concat:
    case Stage::AttentionNorm:
    case Stage::Residual1:
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

std::optional<StageId> stage_from_name(std::string_view name, int layer) {
    std::uint16_t nth = 0;
    if (const std::size_t dot = name.find('.'); dot != std::string_view::npos)
        std::from_chars(name.data() + dot + 1, name.data() + name.size(), nth);
    std::vector<StageId> stages = every_stage();
    for (const Stage role : kOfRecordings)
        for (const std::uint8_t attention : {kSelfAttention, kCrossAttention}) stages.push_back({role, 0, Stack::Main, attention});
    for (StageId id : stages) {
        if (id.layer >= 0) id.layer = layer;
        id.nth = nth;
        if (stage_name(id) == name) return id;
    }
    return std::nullopt;
}

bool is_layer_stage(Stage stage) { return stage_kind(stage) != StageKind::Embedding && stage_kind(stage) != StageKind::Output; }
bool is_attention_map(Stage stage) { return stage_kind(stage) == StageKind::Map; }
bool is_probability(Stage stage) { return stage == Stage::Softmax || stage == Stage::Weights || stage == Stage::Probabilities; }

StageId of_same_attention(StageId id, Stage role) {
    id.stage = role;
    id.nth = 0;
    return id;
}

StageId weights_of(const StageId& id) { return of_same_attention(id, Stage::Weights); }

std::uint64_t stage_key(const StageId& id) {
    // The keys of these roles in cross-attention follow those in self-attention, in the same order.
    return (static_cast<std::uint64_t>(id.nth) << 40) ^ (text_of(id.stage).key + id.attention * kOfCross.size());
}

std::string tensor_name(const StageId& id) {
    std::string out;
    if (id.stack == Stack::Encoder) out = "encoder.";
    if (id.stack == Stack::Decoder) out = "decoder.";
    if (id.layer >= 0) out += "layers." + std::to_string(id.layer) + ".";
    std::string name = stage_name(id);
    if (is_inside_attention(id.stage)) {
        out += id.attention == kCrossAttention ? "cross_attention." : "attention.";
        if (id.attention == kCrossAttention) name.erase(0, kCrossPrefix.size());
    }
    return out.append(name);
}

std::optional<StageId> stage_from_tensor_name(std::string_view name) {
    std::string_view rest = name;
    const Stack stack = consume(rest, "encoder.") ? Stack::Encoder : consume(rest, "decoder.") ? Stack::Decoder : Stack::Main;
    int layer = -1;
    if (consume(rest, "layers.")) {
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), layer);
        if (error != std::errc() || end == rest.data() + rest.size() || *end != '.') return std::nullopt;
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()) + 1);
    }
    const bool cross = consume(rest, "cross_attention.");
    if (!cross) consume(rest, "attention.");
    std::optional<StageId> id = stage_from_name(std::string(cross ? kCrossPrefix : "").append(rest), layer);
    if (!id || is_layer_stage(id->stage) != (layer >= 0)) return std::nullopt;
    id->stack = stack;
    if (tensor_name(*id) != name) return std::nullopt;  // accept one spelling only
    return id;
}

}  // namespace attn
