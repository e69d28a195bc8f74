#pragma once
/// GPT-2's weights in a file alone, as it lies about without the folder that model_folder.hpp reads.

#include <string>

#include "engine/io/array_file.hpp"
#include "engine/plan/config.hpp"

namespace attn {

/// The arrays' names may lack "transformer.", buffers of masks are dropped, an lm_head that repeats the token embedding means tied
/// weights. Sizes follow from the shapes; the number of heads, activation and eps from `config_json` (the text of a config.json, ""
/// without one), else they are GPT-2's own: heads 64 wide, GELU (tanh), 1e-5.
/// Renames the arrays to the names of GPT2LMHeadModel. Throws FileError naming the tensor or field at fault.
Config adopt_gpt2(ArrayFile& file, const std::string& config_json);

}  // namespace attn
