#pragma once
/// Recomputes a reference file with the engine's fast path and compares tensor by tensor.

#include <filesystem>

#include "engine/check/report.hpp"

namespace attn::check {

struct Options {
    bool in_double = false;  ///< recompute in double instead of float
};

/// Reads `path`, a .safetensors file of the format attnscope-case/1, a notebook's .npz or a folder, and recomputes what it expects:
///   sdpa                                       scores, scaled scores, weights, context, gradients of q, k and v
///   multihead_attention                        weights, output, gradients of the inputs and every parameter
///   encoder_layer, decoder_layer, transformer  output, gradients of the inputs and every parameter
///   gpt2                                       logits, loss, every layer's weights, gradients of every parameter
///   train_gpt2                                 losses and gradient norms of a run, the parameters after it
///   notebook .npz                              every matrix from q to output; recognised by its array names
///   a folder                                   a model of Hugging Face's with expected values beside it (see check_folder.hpp)
/// What a file may lack: masks, all of the gradients, biases where its configuration says so, and settings that PyTorch has defaults for.
/// Tolerances: 1e-4 |expected| for the losses of a run; for parameters that it leaves undetermined, as far as rounding can have moved them
/// (RoundingReach); otherwise 2e-5 + 1e-4 |expected|; for a notebook recomputed in double 1e-12 + 1e-12 |expected|. Throws IoError naming
/// file and tensor for a file that cannot be read, lacks a tensor, or holds one of another type or shape.
Report check_file(const std::filesystem::path& path, const Options& options = {});

}  // namespace attn::check
