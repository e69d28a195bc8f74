#pragma once
/// What stages there are, and where a stage is in a model.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/config.hpp"

namespace attn {

/// The role of a stage, in the order in which a transformer computes them. Shapes are those of self-attention; in cross-attention S counts
/// the positions of the memory.
enum class Stage : std::uint8_t {
    // before the layers
    Tokens,             ///< [B,T] ids
    TokenEmbedding,     ///< [B,T,C]
    PositionEmbedding,  ///< [B,T,C]
    SegmentEmbedding,   ///< [B,T,C]
    EmbeddingIn,        ///< [B,T,C] a token embedding of another width, projected to d_model
    Embedding,          ///< [B,T,C] sum of the above, after embedding dropout
    EmbeddingNorm,      ///< [B,T,C]
    // in every layer
    Norm1,          ///< [B,T,C]
    Q,              ///< [B,H,T,D]
    K,              ///< [B,H,S,D]
    V,              ///< [B,H,S,D]
    QNormed,        ///< [B,H,T,D]
    KNormed,        ///< [B,H,S,D]
    QRotated,       ///< [B,H,T,D] rotated by position (RoPE)
    KRotated,       ///< [B,H,S,D]
    Scores,         ///< [B,H,T,S] Q K^T; with GQA, K and V have axis G instead of H
    Scaled,         ///< [B,H,T,S] scores / sqrt(d_head)
    Capped,         ///< [B,H,T,S] soft-capped
    Biased,         ///< [B,H,T,S] lowered by distance (ALiBi), or with T5's bias
    Masked,         ///< [B,H,T,S] additive bias added; -inf where attention is not allowed
    Softmax,        ///< [B,H,T,S] softmax over S, where recorded code makes something else of it before it mixes values
    Weights,        ///< [B,H,T,S] softmax over S
    Dropped,        ///< [B,H,T,S] after attention dropout
    Other,          ///< [B,H,T,S] of recorded code: none of these roles; the plan's node has its name
    Context,        ///< [B,H,T,D] weights V
    Concat,         ///< [B,T,C] heads side by side
    AttentionOut,   ///< [B,T,C] concat W_O
    AttentionNorm,  ///< [B,T,C] norm of the sublayer's output
    Residual1,      ///< [B,T,C] the sublayer's input + attention_out
    Norm2,          ///< [B,T,C]
    FfnGate,        ///< [B,T,F] gated feed-forward: input of the activation
    FfnHidden,      ///< [B,T,F]
    FfnActivation,  ///< [B,T,F]
    FfnGated,       ///< [B,T,F] activation times hidden
    FfnOut,         ///< [B,T,C]
    FfnNorm,        ///< [B,T,C] norm of the sublayer's output
    Residual2,      ///< [B,T,C]
    // after the layers
    FinalNorm,       ///< [B,T,C]
    HeadHidden,      ///< [B,T,C] linear map before the output head
    HeadActivation,  ///< [B,T,C]
    HeadNorm,        ///< [B,T,C]
    HeadScaled,      ///< [B,T,C]
    HeadIn,          ///< [B,T,N] projected to the width of the token embedding
    Logits,          ///< [B,T,V]
    LogitsCapped,    ///< [B,T,V] soft-capped
    Probabilities,   ///< [B,T,V]
};
inline constexpr int kStageCount = static_cast<int>(Stage::Probabilities) + 1;

/// What a stage is part of.
enum class StageKind : std::uint8_t {
    Embedding,  ///< before the layers
    Attention,  ///< what enters or leaves an attention, all heads side by side
    Heads,      ///< queries, keys, values and mixed values
    Map,        ///< from queries to keys: scores, scaled, capped, biased, masked, softmax, weights, dropped and other
    FeedForward,
    Output,  ///< after the layers
};
StageKind stage_kind(Stage stage);

/// Which attention of its layer a stage belongs to.
inline constexpr std::uint8_t kSelfAttention = 0, kCrossAttention = 1;

/// A stage of a model: its role and its place.
struct StageId {
    Stage stage = Stage::Tokens;
    int layer = -1;  ///< -1: outside the layers
    Stack stack = Stack::Main;
    std::uint8_t attention = kSelfAttention;
    std::uint16_t nth = 0;  ///< which of several stages with this role there
    bool operator==(const StageId&) const = default;
};
/// Every stage that our models can have (not those of recorded code alone), in order of computation: those of layers in layer 0, and all in
/// Stack::Main.
std::vector<StageId> every_stage();
/// Whether two stages differ at most in layer and stack.
bool same_role(const StageId& a, const StageId& b);
/// How far apart two roles are in the order of computation.
int steps_between(Stage a, Stage b);

/// The linear maps of a model. Each is the operation behind one role.
enum class LinearMap : std::uint8_t { EmbeddingIn, Q, K, V, AttentionOut, FfnGate, FfnHidden, FfnOut, HeadHidden, HeadIn, Logits };
/// The linear map behind a stage; nullopt for a stage of any other operation.
std::optional<LinearMap> linear_map(Stage stage);

/// snake_case name without layer and stack: "scores", "ffn_out", "cross_scores", "masked.1" for nth = 1.
std::string stage_name(const StageId& id);
/// The stage with this name, if there is one; in that layer if it belongs to layers.
std::optional<StageId> stage_from_name(std::string_view name, int layer = 0);
/// Short symbol for the strip of stages: "QKᵀ", "÷√d", "softmax", "AV", "·W_O".
std::string_view stage_symbol(Stage stage);
/// Subscript of W and b in the linear map behind a stage: "Q", "O", "1"; "head" for the logits, "" for other stages.
std::string_view linear_subscript(Stage stage);
/// Name of the recorded tensor: "embedding", "layers.0.norm_1", "layers.0.attention_out"; stages from q to concat are under attention
/// ("layers.0.attention.weights"), and cross_ ones without their prefix under cross_attention ("decoder.layers.1.cross_attention.scores").
std::string tensor_name(const StageId& id);
/// Inverse of tensor_name.
std::optional<StageId> stage_from_tensor_name(std::string_view name);

/// True for the stages that exist once per layer.
bool is_layer_stage(Stage stage);
/// True for StageKind::Map.
bool is_attention_map(Stage stage);
/// True for stages whose numbers are in [0, 1] by construction: softmax, weights and probabilities (dropped may exceed 1).
bool is_probability(Stage stage);
/// The stage of that role in the attention that `id` is a stage of.
StageId of_same_attention(StageId id, Stage role);
/// The attention weights of the attention that `id` is a stage of.
StageId weights_of(const StageId& id);
/// A number for role, attention and nth that does not change when stages are added: dropout patterns depend on it.
std::uint64_t stage_key(const StageId& id);

}  // namespace attn
