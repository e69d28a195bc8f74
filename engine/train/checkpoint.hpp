#pragma once
/// Saves a training run and resumes it bit for bit; also reads models from elsewhere.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/io/input_file.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/train/curve.hpp"
#include "engine/train/run_course.hpp"
#include "engine/train/run_settings.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {

/// Contents of a `.safetensors` file written here: the parameters (F32, or F16 in a file with only the model; under the names and shapes of
/// Hugging Face's transformers if it has a class for the model, see stored_parameters.hpp), AdamW's moments as `optimizer.exp_avg.NAME` and
/// `optimizer.exp_avg_sq.NAME`, the bytes of a Text task's own text as `task.text`, and as metadata
///   format      "pt", which other tools expect
///   attnscope   "attnscope-checkpoint/1"
///   settings    JSON as in run_json.hpp
///   vocabulary  JSON {"kind", "special_tokens", "symbols": [...], "bytes": [[id, byte], ...]}; a symbol that is a stray byte is "" in
///               "symbols" and listed in "bytes"
///   steps       number of finished steps
///   name        what the user called the run, if anything; read as escaped(), at most 60 characters
///   course      JSON as in run_course.hpp, of a run that is a branch or whose settings were changed
///   plateau     JSON {"step", "best_loss", "without_better"} if the run was evaluated; best_loss only if one was finite
///   checksum    of everything else in the file
/// take_checkpoint() (engine/train/resume.hpp) creates one from a run.
struct Checkpoint {
    RunSettings settings;  ///< including the model's sizes
    std::string name{};    ///< of the run; "" for none
    std::int64_t steps = 0;
    RunCourse course{};  ///< without events in a file with only the model
    Plateau plateau;
    TokenizerKind tokenizer = TokenizerKind::Character;
    bool special_tokens = false;
    std::vector<std::string> vocabulary;                  ///< empty in a model from elsewhere, whose prompts are ids
    std::shared_ptr<const Parameters<float>> parameters;  ///< never null
    AlignedVector<float> first_moments, second_moments;   ///< empty in a file with only the model, which cannot be resumed
    bool resumable() const { return !first_moments.empty(); }
};

/// Atomic (see AtomicFile). Without moments the text is omitted, too. Throws FileError, and ShapeError if the moments do not match the
/// parameters.
void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Writes only the model, rounded to half precision (F16): half the size, for use but not for resuming. Throws FileError, with
/// FileFault::Range for a number outside half precision's range.
void write_half_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Whether the file has metadata of ours, intact or damaged. Reads only its header; throws FileError if that cannot be read.
bool is_checkpoint(const std::filesystem::path& path);

/// Throws FileError with the file's name and the tensor or field at fault. All sizes are checked against the file's before memory for
/// tensors is allocated, and all tensors' shapes against the settings before memory for the model is. A file without our metadata is read
/// as a GPT-2 model from elsewhere (see gpt2_weights.hpp): no vocabulary, no moments.
Checkpoint read_checkpoint(const std::filesystem::path& path, ReadLimits limits = {});
/// The same from any source; `config_json` is the text of a Hugging Face config.json, or "".
Checkpoint read_checkpoint(ByteSource& source, const std::string& config_json = "");

/// "run/model.safetensors" -> "run/model.previous.safetensors".
std::filesystem::path previous_checkpoint(const std::filesystem::path& path);
/// Like write_checkpoint(), but keeps the file that was at `path` as previous_checkpoint(path). `path` itself is a complete file at all
/// times. `before_renaming` is called when the new file is on disk and only needs its name.
void replace_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint, const std::function<void()>& before_renaming = {});

}  // namespace attn
