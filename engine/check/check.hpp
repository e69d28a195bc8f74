#pragma once
/// Recomputes a reference file with the engine's fast path and compares it tensor by tensor.

#include <filesystem>

#include "engine/check/report.hpp"

namespace attn::check {

struct Options {
    bool in_double = false;  ///< recompute in double instead of float
};

/// Reads `path`, a .safetensors file in the format attnscope-case/1, a notebook's .npz or a folder, and recomputes what it expects:
///   sdpa                                       scores, scaled scores, weights, context, gradients of q, k and v
///   multihead_attention                        weights, output, gradients of the inputs and every parameter
///   encoder_layer, decoder_layer, transformer  output, gradients of the inputs and every parameter
///   gpt2                                       logits, loss, every layer's weights, gradients of every parameter
///   train_gpt2                                 losses and gradient norms of a training run, and its final parameters
///   notebook .npz                              every matrix from q to output; recognized by its array names
///   a folder                                   a Hugging Face model with expected values (see check_folder.hpp)
/// A file may omit masks, all gradients, biases (if its configuration says so) and settings for which PyTorch has defaults.
/// Tolerances: 1e-4 |expected| for the losses of a run; for parameters that a run leaves undetermined, as far as rounding may have moved
/// them (RoundingReach); otherwise 2e-5 + 1e-4 |expected|; for a notebook recomputed in double 1e-12 + 1e-12 |expected|. Throws IoError
/// naming the file and the tensor if a file cannot be read, or a tensor is missing or of the wrong type or shape.
Report check_file(const std::filesystem::path& path, const Options& options = {});

}  // namespace attn::check
