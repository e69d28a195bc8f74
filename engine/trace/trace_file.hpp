#pragma once
/// A whole trace as a .safetensors file, for notebooks and other programs.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/io/array_file.hpp"
#include "engine/trace/gradient_trace.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// Texts of the tokens, outer list by sequence, without padding.
using TokenTexts = std::vector<std::vector<std::string>>;

/// Which numbers a file holds; every stage of the trace where nothing is said.
struct TraceContents {
    /// What the numbers do to the loss, in place of them. A whole file then holds the parameters' gradients too, under their names.
    const GradientTrace<float>* gradients = nullptr;
    std::optional<StageId> stage{};              ///< this one alone
    std::string parameter{};                     ///< or this parameter alone, under its name
    std::optional<std::int64_t> trained_step{};  ///< the training step whose model it is; none: not trained
};

/// Writes every stage under its tensor_name() (F32; the token ids I32), and beside each masked, weights and dropped map
/// "<name>.keep", BOOL of the shape [1|B, 1|H, T, S], true = may attend. A pass that made a mistake on purpose also leaves what its heads
/// were split from, "<q, k or v>_proj" [B,P,C], and the mask that was meant, "mask". Gradients have neither. Metadata:
///   format   "attnscope-trace/1", of gradients "attnscope-gradients/1"
///   config, settings   JSON objects as in config_json.hpp
///   axes     JSON object: tensor name -> axis letters, {"layers.0.attention.weights": "BHTS"}
///   stages   JSON list: tensor names in the order of computation
///   tokens, source_tokens   JSON lists of the token texts of each sequence (stray bytes escaped); source_tokens only with an encoder
///   lengths, source_lengths   JSON lists: tokens of each sequence that are not padding
///   trained_step   the training step of a trained model
///   loss, counted   of gradients: the loss in nats, and over how many predicted tokens it is the mean
///   masked_cells   of gradients: "0", what they are at masked cells of weights and dropped (see gradient_trace.hpp)
/// Atomic; throws FileError when it cannot be written, ShapeError when the texts do not fit the trace's tokens, Error for a stage or
/// parameter that is not there.
void write_trace(const std::filesystem::path& path, const Trace<float>& trace, const TokenTexts& tokens,
                 const TokenTexts& source_tokens = {}, const TraceContents& contents = {});

/// Where the stages of an outline come from, each asked for once, in the order of computation. What is returned stays as it is until the
/// next call.
struct StageSource {
    std::function<const RecordedStage<float>&(const StageId&)> stage;
    std::function<std::shared_ptr<const Mask>(const StageId&)> mask;  ///< asked first, for all; null for a stage without one
};
/// The same file of a trace that is held in part, written stage by stage. Of a trace without a mistake made on purpose.
void write_trace(const std::filesystem::path& path, const Trace<float>& outline, const StageSource& source, const TokenTexts& tokens,
                 const TokenTexts& source_tokens = {}, std::optional<std::int64_t> trained_step = {});

/// The arrays of such a file in memory, with format, config and settings.
ArrayFile trace_arrays(const Trace<float>& trace);

}  // namespace attn
