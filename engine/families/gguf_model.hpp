#pragma once
/// A GGUF file as a model: its metadata as our configuration, and where in it our parameters are.
/// The metadata are read directly and not by way of the keys of a config.json: they are called the same in all architectures, while every
/// family's config.json has names and usual values of its own, which a GGUF file does not mean when it leaves something out.
/// Keys: https://github.com/ggml-org/ggml, docs/gguf.md. What the metadata leave out, as in ggml-org/llama.cpp, src/llama-model.cpp.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/families/family.hpp"
#include "engine/io/weight_files.hpp"

namespace attn {

struct GgufModel {
    std::string architecture;  ///< "qwen2": what the file calls the model
    const Family* family = nullptr;
    Config config;
    std::int32_t decoder_start = 0;     ///< of an encoder-decoder
    std::vector<TensorSource> tensors;  ///< of every parameter, by the names of the file
    /// What the file leaves out and is taken from published models of its kind: "rotary base 10000".
    std::vector<std::string> assumed;
};

/// Throws FileError: Unsupported for an architecture or an option that there is not, else what is wrong with a key.
GgufModel read_gguf_model(const GgufFile& file, const WeightFiles& weights);

/// Why a tensor is no parameter.
Leftover gguf_leftover(std::string_view tensor, const Config& config);

/// What the architectures differ in beside the configuration.
struct GgufLayout {
    bool neighbours = false;                  ///< rows of q and k are stored for a rotation of neighbours, not of halves
    bool swapped_norms = false;               ///< with two norms a layer, attn_norm is that of the feed-forward block
    std::string_view output = "attn_output";  ///< the projection after attention
};
/// The sources of every parameter of `config`. Which maps lie in one, attn_qkv or ffn_up with its gate, is seen from the tensors.
std::vector<TensorSource> gguf_tensors(const Config& config, const GgufLayout& layout, const WeightFiles& weights);

}  // namespace attn
