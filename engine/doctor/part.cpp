#include "engine/doctor/part.hpp"

#include <algorithm>
#include <array>

namespace attn::doctor {
namespace {

constexpr std::array<std::string_view, kPartCount> kNames = {"q_proj", "k_proj", "v_proj",  "q",       "k",       "v",     "scores",
                                                             "scaled", "masked", "weights", "dropped", "context", "concat"};

struct PartAlias {
    std::string_view name;
    Part part;
    bool may_be_later = false;
};
/// Names in PyTorch's and Hugging Face's attention code, and in notebooks.
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
            return meaning;
        }
    for (const MaskAlias& alias : kMasks)
        if (lower == alias.name) {
            meaning.mask = alias.meaning;
            meaning.keys_only = alias.keys_only;
            meaning.exact = lower == "mask";
            return meaning;
        }
    return std::nullopt;
}

}  // namespace attn::doctor
