#pragma once
/// The one list of stages, in the order in which a transformer computes them, and where a stage sits in a model.

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
    EmbeddingIn,        ///< [B,T,C] of a token embedding that is not as wide as the stream: mapped to it
    Embedding,          ///< [B,T,C] their sum, after embedding dropout
    EmbeddingNorm,      ///< [B,T,C]
    // in every layer
    Norm1,          ///< [B,T,C]
    Q,              ///< [B,H,T,D]
    K,              ///< [B,H,S,D]
    V,              ///< [B,H,S,D]
    QNormed,        ///< [B,H,T,D]
    KNormed,        ///< [B,H,S,D]
    QRotated,       ///< [B,H,T,D] turned by the position
    KRotated,       ///< [B,H,S,D]
    Scores,         ///< [B,H,T,S] Q K^T; K and V have an axis G in place of H where heads share them
    Scaled,         ///< [B,H,T,S] scores / sqrt(d_head)
    Capped,         ///< [B,H,T,S] bent so that none is larger than a cap
    Biased,         ///< [B,H,T,S] lowered by the distance
    Masked,         ///< [B,H,T,S] additive bias added; -inf where attention is not allowed
    Weights,        ///< [B,H,T,S] softmax over S
    Dropped,        ///< [B,H,T,S] after attention dropout
    Context,        ///< [B,H,T,D] weights V
    Concat,         ///< [B,T,C] heads side by side
    AttentionOut,   ///< [B,T,C] concat W_O
    AttentionNorm,  ///< [B,T,C] norm of what the sublayer found
    Residual1,      ///< [B,T,C] the sublayer's input + attention_out
    CrossNorm,      ///< the cross-attention sublayer of a decoder layer, same shapes; S counts memory positions
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
    FfnGate,        ///< [B,T,F] of a gated feed-forward: what the activation is taken of
    FfnHidden,      ///< [B,T,F]
    FfnActivation,  ///< [B,T,F]
    FfnGated,       ///< [B,T,F] activation times hidden
    FfnOut,         ///< [B,T,C]
    FfnNorm,        ///< [B,T,C] norm of what the sublayer found
    Residual2,      ///< [B,T,C]
    // after the layers
    FinalNorm,       ///< [B,T,C]
    HeadHidden,      ///< [B,T,C] a map before the head
    HeadActivation,  ///< [B,T,C]
    HeadNorm,        ///< [B,T,C]
    HeadScaled,      ///< [B,T,C]
    HeadIn,          ///< [B,T,N] mapped to the width of the token embedding
    Logits,          ///< [B,T,V]
    LogitsCapped,    ///< [B,T,V] bent so that none is larger than a cap
    Probabilities,   ///< [B,T,V]
};
inline constexpr int kStageCount = static_cast<int>(Stage::Probabilities) + 1;

/// One recorded tensor of a model. `layer` is -1 for the stages outside the layers.
struct StageId {
    Stage stage = Stage::Tokens;
    int layer = -1;
    Stack stack = Stack::Main;
    bool operator==(const StageId&) const = default;
};

/// Design name: "scores", "ffn_out", "cross_scores".
std::string_view stage_name(Stage stage);
/// The stage with this design name, if there is one.
std::optional<Stage> stage_from_name(std::string_view name);
/// Short symbol for a strip: "QKᵀ", "÷√d", "softmax", "AV", "·W_O".
std::string_view stage_symbol(Stage stage);
/// What stands under W and b of the linear map behind a stage: "Q", "O", "1"; "head" for the logits, "" for stages without one.
std::string_view linear_subscript(Stage stage);
/// File name of the recorded tensor: "layers.0.attention.weights" (q to concat live under attention), "layers.0.norm_1",
/// "layers.0.attention_out", "embedding", "decoder.layers.1.cross_attention.scores" (without its cross_ prefix there).
std::string tensor_name(const StageId& id);
/// Inverse of tensor_name.
std::optional<StageId> stage_from_tensor_name(std::string_view name);

/// True for the stages that exist once per layer.
bool is_layer_stage(Stage stage);
/// True for the stages of a cross-attention sublayer.
bool is_cross(Stage stage);
/// True for the maps [B,H,T,S]: scores, scaled, capped, biased, masked, weights, dropped and their cross_ forms.
bool is_attention_map(Stage stage);
/// True for stages whose numbers lie in 0..1 by construction: weights, probabilities (dropped may exceed 1).
bool is_probability(Stage stage);
/// The cross-attention stage that plays the part of a self-attention stage; the stage itself where there is none.
Stage to_cross(Stage stage);
/// The inverse of to_cross.
Stage to_self(Stage stage);
/// A number of its own for every stage that stays what it is when stages are added: dropout patterns depend on it.
std::uint64_t stage_key(Stage stage);

}  // namespace attn
