#pragma once
/// The list of all stages, in the order in which a transformer computes them, and where a stage is in a model.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/plan/config.hpp"

namespace attn {

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
    Weights,        ///< [B,H,T,S] softmax over S
    Dropped,        ///< [B,H,T,S] after attention dropout
    Context,        ///< [B,H,T,D] weights V
    Concat,         ///< [B,T,C] heads side by side
    AttentionOut,   ///< [B,T,C] concat W_O
    AttentionNorm,  ///< [B,T,C] norm of the sublayer's output
    Residual1,      ///< [B,T,C] the sublayer's input + attention_out
    CrossNorm,      ///< the cross-attention sublayer of a decoder layer: the same shapes, with S over memory positions
    CrossQ,
    CrossK,
    CrossV,
    CrossScores,
    CrossScaled,
    CrossMasked,
    CrossWeights,
    CrossDropped,
    CrossContext,
    CrossConcat,
    CrossAttentionOut,
    CrossResidual,
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

/// A stage of a model. `layer` is -1 for stages outside the layers.
struct StageId {
    Stage stage = Stage::Tokens;
    int layer = -1;
    Stack stack = Stack::Main;
    bool operator==(const StageId&) const = default;
};

/// The linear maps of a model. Each is the operation behind one stage, and behind that of cross-attention, if there is one.
enum class LinearMap : std::uint8_t { EmbeddingIn, Q, K, V, AttentionOut, FfnGate, FfnHidden, FfnOut, HeadHidden, HeadIn, Logits };
/// The linear map behind a stage; nullopt for a stage of any other operation.
std::optional<LinearMap> linear_map(Stage stage);

/// snake_case name: "scores", "ffn_out", "cross_scores".
std::string_view stage_name(Stage stage);
/// The stage with this name, if there is one.
std::optional<Stage> stage_from_name(std::string_view name);
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
/// True for the stages of a cross-attention sublayer.
bool is_cross(Stage stage);
/// True for the maps [B,H,T,S]: scores, scaled, capped, biased, masked, weights, dropped and their cross_ forms.
bool is_attention_map(Stage stage);
/// True for stages whose numbers are in [0, 1] by construction: weights and probabilities (dropped may exceed 1).
bool is_probability(Stage stage);
/// The cross-attention counterpart of a self-attention stage; the stage itself if there is none.
Stage to_cross(Stage stage);
/// The inverse of to_cross.
Stage to_self(Stage stage);
/// The stage `self` of the attention that `id` is a stage of: its cross-attention form if that is cross-attention.
StageId of_same_attention(StageId id, Stage self);
/// The attention weights of the attention that `id` is a stage of.
StageId weights_of(const StageId& id);
/// An identifying number that does not change when stages are added: dropout patterns depend on it.
std::uint64_t stage_key(Stage stage);

}  // namespace attn
