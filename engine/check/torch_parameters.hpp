#pragma once
/// Parameters of PyTorch modules as they lie in a reference file, and their places in a model of this engine.

#include <string>
#include <vector>

#include "engine/check/case_file.hpp"
#include "engine/weights/parameters.hpp"

namespace attn::check {

/// One of the engine's parameters inside one of the file's tensors. PyTorch's nn.Linear keeps [out,in], this engine and GPT-2's
/// c_* weights [in,out]; a packed in_proj holds several parameters below one another.
struct ParameterLink {
    std::string tensor;          ///< name in the file behind "param.", "grad.param." or "out.param."
    Shape tensor_shape;          ///< of the whole tensor
    std::string parameter;       ///< name in the ParameterLayout
    bool transposed = false;     ///< the file has [out,in]
    std::int64_t first_row = 0;  ///< where the parameter starts on the tensor's first axis
};

/// A configuration without biases (qkv_bias) stands for a PyTorch layer without any: those of its norms and feed-forward stay 0.
/// nn.TransformerEncoderLayer (`from` ends with a dot or is empty) into the layer `to` = "layers.0." of a model of this configuration.
std::vector<ParameterLink> encoder_layer_links(const Config& config, const std::string& from, const std::string& to);
/// nn.TransformerDecoderLayer: self-attention, cross-attention, feed-forward, three norms.
std::vector<ParameterLink> decoder_layer_links(const Config& config, const std::string& from, const std::string& to);
/// The encoder of nn.Transformer, with its final norm, into the stack `to`: "" of a model of one, "encoder." of an encoder-decoder.
std::vector<ParameterLink> transformer_encoder_links(const Config& config, const std::string& to);
/// The decoder of nn.Transformer, with its final norm, into that of an encoder-decoder.
std::vector<ParameterLink> transformer_decoder_links(const Config& config);
/// A GPT-2 checkpoint: wte, wpe, h.N.*, ln_f, and lm_head when it is not tied.
std::vector<ParameterLink> gpt2_links(const Config& config);
/// nn.MultiheadAttention: in_proj into `to`.qkv (or, when `cross`, into .q and .kv), out_proj into `to`.out. `to` has no dot at its end.
std::vector<ParameterLink> attention_links(const Config& config, const std::string& from, const std::string& to, bool cross);

/// Parameters with the linked ones filled from "param.*", the others 0. Nothing is allocated for them before every tensor has been
/// found in its shape: throws FileError for one that is missing or of another shape.
template <class Scalar>
Parameters<Scalar> load_parameters(const CaseFile& file, const Config& config, const std::vector<ParameterLink>& links);

/// Compares parameters (or a buffer of gradients of the same layout) with the file's tensors `prefix` + name, laid out as the file has
/// them. `reach` as in CaseFile::compare(), in the layout of the values; null without one.
template <class Scalar>
void compare_parameters(CaseFile& file, const std::vector<ParameterLink>& links, const std::string& prefix, const ParameterLayout& layout,
                        const Scalar* values, const double* reach = nullptr);

}  // namespace attn::check
