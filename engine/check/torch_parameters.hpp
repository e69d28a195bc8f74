#pragma once
/// PyTorch modules' parameters as stored in reference files, and their places in this engine's models.

#include <string>
#include <vector>

#include "engine/check/case_file.hpp"
#include "engine/weights/parameters.hpp"

namespace attn::check {

/// One of the engine's parameters inside a tensor of the file. PyTorch's nn.Linear stores [out,in]; this engine and GPT-2's c_* weights use
/// [in,out]. A packed in_proj stacks several parameters along its first axis.
struct ParameterLink {
    std::string tensor;          ///< name in the file after "param.", "grad.param." or "out.param."
    Shape tensor_shape;          ///< of the whole tensor
    std::string parameter;       ///< name in the ParameterLayout
    bool transposed = false;     ///< the file stores [out,in]
    std::int64_t first_row = 0;  ///< where the parameter begins on the tensor's first axis
};

/// nn.TransformerEncoderLayer: `from` is empty or ends with a dot, `to` is a layer such as "layers.0.". A configuration without qkv_bias
/// stands for a PyTorch layer without any biases; those of its norms and feed-forward block stay 0.
std::vector<ParameterLink> encoder_layer_links(const Config& config, const std::string& from, const std::string& to);
/// nn.TransformerDecoderLayer: self-attention, cross-attention, feed-forward, three norms.
std::vector<ParameterLink> decoder_layer_links(const Config& config, const std::string& from, const std::string& to);
/// The encoder of nn.Transformer with its final norm. `to` is the stack: "" in a single-stack model, "encoder." in an encoder-decoder.
std::vector<ParameterLink> transformer_encoder_links(const Config& config, const std::string& to);
/// The decoder of nn.Transformer with its final norm, into the decoder of an encoder-decoder.
std::vector<ParameterLink> transformer_decoder_links(const Config& config);
/// A GPT-2 checkpoint: wte, wpe, h.N.*, ln_f, and lm_head if it is not tied.
std::vector<ParameterLink> gpt2_links(const Config& config);
/// nn.MultiheadAttention: in_proj into `to`.qkv (or into .q and .kv if `cross`), out_proj into `to`.out. `to` does not end with a dot.
std::vector<ParameterLink> attention_links(const Config& config, const std::string& from, const std::string& to, bool cross);

/// Parameters filled from "param.*"; those without a link are 0. Every tensor is checked before memory for the parameters is allocated:
/// throws FileError if one is missing or of another shape.
template <class Scalar>
Parameters<Scalar> load_parameters(const CaseFile& file, const Config& config, const std::vector<ParameterLink>& links);

/// Compares parameters, or gradients in the same layout, with the file's tensors `prefix` + name. `reach` as in CaseFile::compare(), in
/// layout order; may be null.
template <class Scalar>
void compare_parameters(CaseFile& file, const std::vector<ParameterLink>& links, const std::string& prefix, const ParameterLayout& layout,
                        const Scalar* values, const double* reach = nullptr);

}  // namespace attn::check
