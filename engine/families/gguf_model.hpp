#pragma once
/// A GGUF file as a model: its metadata as our configuration, and where it stores our parameters.
/// The metadata is read directly rather than through config.json's keys: its keys are the same for all architectures, while every family's
/// config.json has names and defaults of its own, which do not apply to a GGUF file that omits something.
/// Keys: https://github.com/ggml-org/ggml, docs/gguf.md. Defaults: ggml-org/llama.cpp, src/llama-model.cpp.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "engine/families/family.hpp"
#include "engine/families/gguf_keys.hpp"
#include "engine/io/weight_files.hpp"

namespace attn {

struct GgufModel {
    std::string architecture;  ///< the file's name for it: "qwen2"
    const Family* family = nullptr;
    Config config;
    std::int32_t decoder_start = 0;     ///< first token of an encoder-decoder's output
    std::vector<TensorSource> tensors;  ///< for every parameter, under the file's names
    /// Settings the file omits, taken from published models of its kind: "rotary base 10000".
    std::vector<std::string> assumed;
    std::vector<std::string> unread;  ///< keys of the architecture that change no number here
    std::vector<std::string> notes;   ///< sentences about settings that other programs read otherwise
};

/// Throws FileError: Unsupported for an architecture or option that is not supported, and for a faulty key.
GgufModel read_gguf_model(const GgufFile& file, const WeightFiles& weights);

/// Reads base, size and scaling of rotary positions. The sizes of the model must be known, and `config` must have the base to assume.
void read_gguf_rotary(GgufKeys& keys, Config& config, std::string_view remark = "");
/// The rotary base under the first of these keys that the file has, or else the usual one, which is recorded as assumed, with the remark.
double read_gguf_base(GgufKeys& keys, std::initializer_list<std::string_view> names, double usual, std::string_view remark = "");

/// Why a tensor is not a parameter.
Leftover gguf_leftover(const ArrayView& tensor, const Config& config);

/// How architectures differ apart from the configuration.
struct GgufLayout {
    bool neighbours = false;                  ///< rows of q and k are stored for rotation of adjacent pairs, not of halves
    bool swapped_norms = false;               ///< with two norms per layer, attn_norm is that of the feed-forward block
    std::string_view output = "attn_output";  ///< name of the projection after attention
};
/// The sources of every parameter of `config`. Whether maps are fused (attn_qkv, or ffn_up with its gate) is determined from the tensors.
std::vector<TensorSource> gguf_tensors(const Config& config, const GgufLayout& layout, const WeightFiles& weights);

}  // namespace attn
