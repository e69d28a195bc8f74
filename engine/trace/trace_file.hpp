#pragma once
/// Writes a trace to a .safetensors file, for notebooks and other programs.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/io/array_file.hpp"
#include "engine/io/write_watch.hpp"
#include "engine/trace/gradient_trace.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// Text of each token: one list per sequence, without padding.
using TokenTexts = std::vector<std::vector<std::string>>;

/// What a file contains; by default every stage of the trace.
struct TraceContents {
    /// Write these gradients instead of the values. A file with all stages then also has the parameters' gradients, under their names.
    const GradientTrace<float>* gradients = nullptr;
    std::optional<StageId> stage{};              ///< only this stage
    std::string parameter{};                     ///< only this parameter, by its name
    std::optional<std::int64_t> trained_step{};  ///< training step of the model; none: not trained
};

/// Writes every stage under its tensor_name() (F32; token ids I32), and beside each masked, weights and dropped map "<name>.keep", BOOL of
/// shape [1|B, 1|H, T, S], true = may attend (not beside masked if a mistake leaves out the mask there). A pass with a deliberate mistake
/// also gets the projections that heads were split from, "<q, k or v>_proj" [B,P,C], and the correct mask, "mask". Gradients have neither.
/// Metadata:
///   format   "attnscope-trace/1", for gradients "attnscope-gradients/1"
///   config, settings   JSON objects as in config_json.hpp
///   axes     JSON object: tensor name -> axis letters, {"layers.0.attention.weights": "BHTS"}
///   stages   JSON list: tensor names in order of computation
///   tokens, source_tokens   JSON lists of the token texts of each sequence (stray bytes escaped); source_tokens only with an encoder
///   lengths, source_lengths   JSON lists: length of each sequence without padding
///   trained_step   training step of a trained model
///   loss, counted   gradients only: mean loss in nats, and over how many predicted tokens
///   masked_cells   gradients only: "0", their value at masked cells of weights and dropped (see gradient_trace.hpp)
/// The file is replaced atomically. Throws FileError if it cannot be written, ShapeError if the texts do not match the trace's tokens,
/// Error for a stage or parameter that does not exist, Cancelled as `watch` asks.
void write_trace(const std::filesystem::path& path, const Trace<float>& trace, const TokenTexts& tokens,
                 const TokenTexts& source_tokens = {}, const TraceContents& contents = {}, const WriteWatch& watch = {});

/// Supplies the stages of an outline.
struct StageSource {
    /// A trace that holds this stage and those it is computed from, valid until the next call. Stages are requested in order of
    /// computation, once or twice in a row.
    std::function<const Trace<float>&(const StageId&)> around;
    std::function<std::shared_ptr<const Mask>(const StageId&)> mask;  ///< called first, for all stages; null for a stage without a mask
};
/// The same file for a trace that is only partly in memory, written stage by stage.
void write_trace(const std::filesystem::path& path, const Trace<float>& outline, const StageSource& source, const TokenTexts& tokens,
                 const TokenTexts& source_tokens = {}, std::optional<std::int64_t> trained_step = {}, const WriteWatch& watch = {});

/// The arrays of such a file, in memory, with the metadata format, config and settings.
ArrayFile trace_arrays(const Trace<float>& trace);

}  // namespace attn
