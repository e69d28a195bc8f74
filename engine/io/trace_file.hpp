#pragma once
/// A whole trace as a .safetensors file, for notebooks and other programs.

#include <filesystem>
#include <string>
#include <vector>

#include "engine/io/array_file.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// Texts of the tokens, outer list by sequence, without padding.
using TokenTexts = std::vector<std::vector<std::string>>;

/// Writes every stage under its tensor_name() (F32; the token ids I32), and beside each masked, weights and dropped map
/// "<name>.keep", BOOL of the shape [1|B, 1|H, T, S], true = may attend. A pass that made a mistake on purpose also leaves what its heads
/// were split from, "<q, k or v>_proj" [B,P,C], and the mask that was meant, "mask". Metadata:
///   format   "attnscope-trace/1"
///   config, settings   JSON objects as in config_json.hpp
///   axes     JSON object: tensor name -> axis letters, {"layers.0.attention.weights": "BHTS"}
///   stages   JSON list: tensor names in the order of computation
///   tokens, source_tokens   JSON lists of the token texts of each sequence (stray bytes escaped); source_tokens only with an encoder
///   lengths, source_lengths   JSON lists: tokens of each sequence that are not padding
/// Atomic; throws FileError when it cannot be written, ShapeError when the texts do not fit the trace's tokens.
void write_trace(const std::filesystem::path& path, const Trace<float>& trace, const TokenTexts& tokens,
                 const TokenTexts& source_tokens = {});

/// The arrays of such a file in memory, with format, config and settings.
ArrayFile trace_arrays(const Trace<float>& trace);

}  // namespace attn
