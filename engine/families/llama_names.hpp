#pragma once
/// Models that LlamaForCausalLM of Hugging Face's transformers computes: root-mean-square norms before each sublayer, rotary positions,
/// a gated feed-forward, grouped keys and values.

#include <string>
#include <string_view>

#include "engine/plan/config.hpp"

namespace attn {

/// True for a configuration that LlamaForCausalLM computes as we do.
bool is_llama(const Config& config);
/// "layers.0.attention.q.weight" -> "model.layers.0.self_attn.q_proj.weight". Throws Error for a parameter that such models lack.
std::string llama_name(std::string_view ours);
/// Text of the config.json with which transformers loads such a model. Throws ConfigError unless is_llama().
std::string llama_config_json(const Config& config);

}  // namespace attn
