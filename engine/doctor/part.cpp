#include "engine/doctor/part.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace attn::doctor {
namespace {

constexpr std::array<std::string_view, kPartCount> kNames = {"q_proj",    "k_proj",    "v_proj",    "q",       "k",      "v",
                                                             "q_rotated", "k_rotated", "v_rotated", "scores",  "scaled", "capped",
                                                             "masked",    "weights",   "dropped",   "context", "concat"};

struct PartAlias {
    std::string_view name;
    Part part;
    bool may_be_later = false;
};
/// Names used in PyTorch's and Hugging Face's attention code, and in notebooks.
constexpr PartAlias kPartAliases[] = {
    {"query_proj", Part::QProj},
    {"key_proj", Part::KProj},
    {"value_proj", Part::VProj},
    {"mixed_query_layer", Part::QProj},
    {"mixed_key_layer", Part::KProj},
    {"mixed_value_layer", Part::VProj},
    {"q_projected", Part::QProj},
    {"k_projected", Part::KProj},
    {"v_projected", Part::VProj},
    {"query", Part::Q},
    {"key", Part::K},
    {"value", Part::V},
    {"queries", Part::Q},
    {"keys", Part::K},
    {"values", Part::V},
    {"query_layer", Part::Q},
    {"key_layer", Part::K},
    {"value_layer", Part::V},
    {"query_states", Part::Q},
    {"key_states", Part::K},
    {"value_states", Part::V},
    {"q_rot", Part::QRotated},
    {"q_rope", Part::QRotated},
    {"q_roped", Part::QRotated},
    {"q_rotary", Part::QRotated},
    {"q_post_rope", Part::QRotated},
    {"q_after_rope", Part::QRotated},
    {"q_embed", Part::QRotated},
    {"q_pre_rope", Part::QProj},
    {"q_before_rope", Part::QProj},
    {"q_unrotated", Part::QProj},
    {"query_rot", Part::QRotated},
    {"query_rope", Part::QRotated},
    {"query_roped", Part::QRotated},
    {"query_rotary", Part::QRotated},
    {"query_post_rope", Part::QRotated},
    {"query_after_rope", Part::QRotated},
    {"query_rotated", Part::QRotated},
    {"query_pre_rope", Part::QProj},
    {"query_before_rope", Part::QProj},
    {"query_unrotated", Part::QProj},
    {"query_states_rot", Part::QRotated},
    {"query_states_rope", Part::QRotated},
    {"query_states_roped", Part::QRotated},
    {"query_states_rotary", Part::QRotated},
    {"query_states_post_rope", Part::QRotated},
    {"query_states_after_rope", Part::QRotated},
    {"query_states_rotated", Part::QRotated},
    {"query_states_pre_rope", Part::QProj},
    {"query_states_before_rope", Part::QProj},
    {"query_states_unrotated", Part::QProj},
    {"k_rot", Part::KRotated},
    {"k_rope", Part::KRotated},
    {"k_roped", Part::KRotated},
    {"k_rotary", Part::KRotated},
    {"k_post_rope", Part::KRotated},
    {"k_after_rope", Part::KRotated},
    {"k_embed", Part::KRotated},
    {"k_pre_rope", Part::KProj},
    {"k_before_rope", Part::KProj},
    {"k_unrotated", Part::KProj},
    {"key_rot", Part::KRotated},
    {"key_rope", Part::KRotated},
    {"key_roped", Part::KRotated},
    {"key_rotary", Part::KRotated},
    {"key_post_rope", Part::KRotated},
    {"key_after_rope", Part::KRotated},
    {"key_rotated", Part::KRotated},
    {"key_pre_rope", Part::KProj},
    {"key_before_rope", Part::KProj},
    {"key_unrotated", Part::KProj},
    {"key_states_rot", Part::KRotated},
    {"key_states_rope", Part::KRotated},
    {"key_states_roped", Part::KRotated},
    {"key_states_rotary", Part::KRotated},
    {"key_states_post_rope", Part::KRotated},
    {"key_states_after_rope", Part::KRotated},
    {"key_states_rotated", Part::KRotated},
    {"key_states_pre_rope", Part::KProj},
    {"key_states_before_rope", Part::KProj},
    {"key_states_unrotated", Part::KProj},
    {"v_rot", Part::VRotated},
    {"v_rope", Part::VRotated},
    {"v_roped", Part::VRotated},
    {"v_rotary", Part::VRotated},
    {"v_post_rope", Part::VRotated},
    {"v_after_rope", Part::VRotated},
    {"v_pre_rope", Part::VProj},
    {"v_before_rope", Part::VProj},
    {"v_unrotated", Part::VProj},
    {"value_rot", Part::VRotated},
    {"value_rope", Part::VRotated},
    {"value_roped", Part::VRotated},
    {"value_rotary", Part::VRotated},
    {"value_post_rope", Part::VRotated},
    {"value_after_rope", Part::VRotated},
    {"value_rotated", Part::VRotated},
    {"value_pre_rope", Part::VProj},
    {"value_before_rope", Part::VProj},
    {"value_unrotated", Part::VProj},
    {"value_states_rot", Part::VRotated},
    {"value_states_rope", Part::VRotated},
    {"value_states_roped", Part::VRotated},
    {"value_states_rotary", Part::VRotated},
    {"value_states_post_rope", Part::VRotated},
    {"value_states_after_rope", Part::VRotated},
    {"value_states_rotated", Part::VRotated},
    {"value_states_pre_rope", Part::VProj},
    {"value_states_before_rope", Part::VProj},
    {"value_states_unrotated", Part::VProj},
    {"qk", Part::Scores, true},
    {"qkt", Part::Scores, true},
    {"qk_t", Part::Scores, true},
    {"raw_scores", Part::Scores},
    {"matmul_qk", Part::Scores},
    {"attn_scores", Part::Scores, true},
    {"attention_scores", Part::Scores, true},
    {"attn_logits", Part::Scores, true},
    {"attention_logits", Part::Scores, true},
    {"energy", Part::Scores, true},
    {"scaled_attention_logits", Part::Scores, true},
    {"scaled_scores", Part::Scaled},
    {"scaled_attention_scores", Part::Scaled},
    {"scores_scaled", Part::Scaled},
    {"capped_scores", Part::Capped},
    {"scores_capped", Part::Capped},
    {"softcapped", Part::Capped},
    {"softcapped_scores", Part::Capped},
    {"masked_scores", Part::Masked},
    {"scores_masked", Part::Masked},
    {"att", Part::Weights},
    {"attn", Part::Weights},
    {"attention", Part::Weights},
    {"attentions", Part::Weights},
    {"attn_weights", Part::Weights},
    {"attention_weights", Part::Weights},
    {"attn_output_weights", Part::Weights},
    {"attn_probs", Part::Weights, true},
    {"attention_probs", Part::Weights, true},
    {"probs", Part::Weights, true},
    {"p_attn", Part::Weights, true},
    {"attn_dropped", Part::Dropped},
    {"dropped_weights", Part::Dropped},
    {"weights_dropped", Part::Dropped},
    {"attn_weights_dropped", Part::Dropped},
    {"attention_probs_dropped", Part::Dropped},
    {"context_layer", Part::Context},
    {"attn_context", Part::Context},
    {"context_vec", Part::Context},
    {"context_vecs", Part::Context},
    {"context_vector", Part::Context},
    {"attn_output", Part::Context},
    {"attention_output", Part::Context},
    {"head_outputs", Part::Context},
    {"concatenated", Part::Concat},
    {"concat_heads", Part::Concat},
    {"concat_attention", Part::Concat},
    {"merged", Part::Concat},
    {"merged_heads", Part::Concat},
};

constexpr std::array<std::string_view, 5> kQueryNorms = {"q_norm", "q_layernorm", "q_ln", "query_norm", "norm_q"};
constexpr std::array<std::string_view, 5> kKeyNorms = {"k_norm", "k_layernorm", "k_ln", "key_norm", "norm_k"};
constexpr std::array<std::string_view, 5> kValueNorms = {"v_norm", "v_layernorm", "v_ln", "value_norm", "norm_v"};

struct MaskAlias {
    std::string_view name;
    MaskMeaning meaning;
    bool keys_only = false;
};
constexpr MaskAlias kMasks[] = {
    {"mask", MaskMeaning::Keep},
    {"keep", MaskMeaning::Keep},
    {"attention_mask", MaskMeaning::Keep},
    {"causal_mask", MaskMeaning::Ambiguous},
    {"attn_mask", MaskMeaning::Ambiguous},
    {"src_mask", MaskMeaning::Ignore},
    {"tgt_mask", MaskMeaning::Ignore},
    {"memory_mask", MaskMeaning::Ignore},
    {"padding_mask", MaskMeaning::Ambiguous, true},
    {"key_padding_mask", MaskMeaning::Ignore, true},
    {"src_key_padding_mask", MaskMeaning::Ignore, true},
    {"tgt_key_padding_mask", MaskMeaning::Ignore, true},
    {"memory_key_padding_mask", MaskMeaning::Ignore, true},
    {"attn_bias", MaskMeaning::Additive},
    {"attention_bias", MaskMeaning::Additive},
    {"position_bias", MaskMeaning::Additive},
    {"alibi", MaskMeaning::Additive},
    {"alibi_bias", MaskMeaning::Additive},
};

}  // namespace

std::string_view part_name(Part part) { return kNames[static_cast<std::size_t>(part)]; }

std::optional<NameMeaning> meaning_of_name(std::string_view name) {
    std::string lower(name);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return c < 0x80 ? std::tolower(c) : c; });
    NameMeaning meaning;
    for (std::size_t i = 0; i < kNames.size(); ++i)
        if (lower == kNames[i]) {
            meaning.part = static_cast<Part>(i);
            meaning.exact = true;
            return meaning;
        }
    for (const PartAlias& alias : kPartAliases)
        if (lower == alias.name) {
            meaning.part = alias.part;
            meaning.may_be_later = alias.may_be_later;
            meaning.module = lower == "att" || lower == "attn" || lower == "attention";
            return meaning;
        }
    for (const MaskAlias& alias : kMasks)
        if (lower == alias.name) {
            meaning.mask = alias.meaning;
            meaning.keys_only = alias.keys_only;
            meaning.exact = lower == "mask";
            return meaning;
        }
    for (const auto& [norms, part] :
         {std::pair(kQueryNorms, Part::QProj), std::pair(kKeyNorms, Part::KProj), std::pair(kValueNorms, Part::VProj)})
        if (std::find(norms.begin(), norms.end(), lower) != norms.end()) {
            meaning.part = part;
            meaning.normed = true;
            return meaning;
        }
    for (const std::string_view name_of_sinks : {"sinks", "sink", "attn_sinks", "attention_sinks"}) meaning.sinks |= lower == name_of_sinks;
    return meaning.sinks ? std::optional(meaning) : std::nullopt;
}

}  // namespace attn::doctor
