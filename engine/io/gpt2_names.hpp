#pragma once
/// Under which names and in which shapes a model's parameters stand in a file.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/io/array_file.hpp"
#include "engine/model/parameters.hpp"

namespace attn {

struct StoredParameter {
    std::string name;                 ///< in the file
    std::vector<std::int64_t> shape;  ///< in the file
    const ParameterInfo* info;        ///< in memory; owned by the layout
    bool transposed = false;          ///< the file's [rows, columns] are [columns, rows] in memory
};

/// A decoder-only model as GPT2LMHeadModel of Hugging Face's transformers writes it: transformer.wte.weight [V,C], transformer.wpe.weight,
/// transformer.h.N.{ln_1, attn.c_attn [C,3HD], attn.c_proj, ln_2, mlp.c_fc, mlp.c_proj}.{weight, bias} with weights [in,out],
/// transformer.ln_f.{weight, bias}, lm_head.weight [V,C] unless tied. Other models under our own names and shapes.
/// `layout` has to outlive the result.
std::vector<StoredParameter> stored_parameters(const ParameterLayout& layout, Architecture architecture);

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
