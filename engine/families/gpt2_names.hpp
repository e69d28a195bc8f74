#pragma once
/// GPT-2 models as Hugging Face's transformers writes them.

#include <string>
#include <string_view>

#include "engine/io/array_file.hpp"
#include "engine/plan/config.hpp"

namespace attn {

/// "token_embedding.weight" -> "transformer.wte.weight", "layers.0.norm_1.bias" -> "transformer.h.0.ln_1.bias": the names of
/// GPT2LMHeadModel of Hugging Face's transformers, whose file has transformer.wte.weight [V,C], transformer.wpe.weight,
/// transformer.h.N.{ln_1, attn.c_attn [C,3HD], attn.c_proj, ln_2, mlp.c_fc, mlp.c_proj}.{weight, bias} with weights [in,out],
/// transformer.ln_f.{weight, bias}, lm_head.weight [V,C] unless tied. Throws Error for a parameter that such models lack.
std::string gpt2_name(std::string_view ours);

/// True unless the configuration has parts that GPT-2 has no tensors for or another meaning of them (a gate, another norm, ...).
bool has_gpt2_parts(const Config& config);
/// True for a configuration that GPT2LMHeadModel computes as we do.
bool is_gpt2(const Config& config);
/// Text of the config.json with which transformers loads such a model. Throws ConfigError unless is_gpt2().
std::string gpt2_config_json(const Config& config);

/// A GPT-2 model from elsewhere: the arrays' names may lack "transformer.", buffers of masks are dropped, an lm_head that repeats the
/// token embedding means tied weights. Sizes follow from the shapes; the number of heads, activation and eps from `config_json` (the
/// text of a config.json, "" without one), else they are GPT-2's own: heads 64 wide, GELU (tanh), 1e-5.
/// Renames the arrays to the names above. Throws FileError(Schema) naming the tensor or field at fault.
Config adopt_gpt2(ArrayFile& file, const std::string& config_json);

}  // namespace attn
