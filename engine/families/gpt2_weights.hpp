#pragma once
/// GPT-2 weights in a single file, without the folder that model_folder.hpp reads.

#include <string>

#include "engine/io/array_file.hpp"
#include "engine/plan/config.hpp"

namespace attn {

/// Array names may lack "transformer." and have a wrapper's prefix; mask buffers are dropped; an lm_head equal to the token embedding means
/// tied weights. Sizes follow from the shapes; number of heads, activation and eps come from `config_json` (the text of a config.json, or
/// ""), else they are GPT-2's: heads of size 64, GELU (tanh), 1e-5. Renames the arrays to GPT2LMHeadModel's names. Throws FileError naming
/// the tensor or field at fault.
Config adopt_gpt2(ArrayFile& file, const std::string& config_json);

}  // namespace attn
