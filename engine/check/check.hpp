#pragma once
/// Recomputes a reference file with the engine's fast path and compares tensor by tensor.

#include <filesystem>

#include "engine/check/report.hpp"

namespace attn::check {

struct Options {
    bool in_double = false;  ///< recompute in double instead of float
};

/// Reads `path`, a .safetensors file of the format attnscope-case/1 or a notebook's .npz, and recomputes what it expects:
///   sdpa                                       scores, scaled scores, weights, context
///   multihead_attention                        weights and output
///   encoder_layer, decoder_layer, transformer  output
///   gpt2                                       logits, loss, every layer's weights
///   notebook .npz                              every matrix from q to output; recognised by its array names
/// Gradients in the file are counted, not recomputed.
/// Tolerances: 2e-5 + 1e-4 |expected|; for float64 data recomputed in double 1e-12 + 1e-12 |expected|.
/// Throws IoError naming file and tensor for a file that cannot be read, lacks a tensor, or holds one of another type or shape.
Report check_file(const std::filesystem::path& path, const Options& options = {});

}  // namespace attn::check
