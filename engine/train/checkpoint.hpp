#pragma once
/// Saving a training run and taking it up again, bit for bit; reading models from elsewhere.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/io/input_file.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/train/curve.hpp"
#include "engine/train/run_settings.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {

/// What a `.safetensors` file written here holds: the parameters (F32, or F16 in a file that holds only the model; under the names and in
/// the shapes that Hugging Face's transformers gives such a model where it has a class for it, see stored_parameters.hpp), AdamW's moments
/// as `optimizer.exp_avg.NAME` and `optimizer.exp_avg_sq.NAME`, the bytes of a Text task's own text as `task.text`, and as metadata
///   format      "pt", which other tools ask for
///   attnscope   "attnscope-checkpoint/1"
///   settings    JSON as in run_json.hpp
///   vocabulary  JSON {"kind", "special_tokens", "symbols": [...], "bytes": [[id, byte], ...]}; a symbol that is a stray byte is "" in
///               the first list and stands in the second
///   steps       finished steps
///   plateau     JSON {"step", "best_loss", "without_better"} of a run that was evaluated; without best_loss none was finite
///   checksum    of everything else in the file
/// take_checkpoint() (engine/train/resume.hpp) makes one from a run.
struct Checkpoint {
    RunSettings settings;  ///< with the model's sizes filled in
    std::int64_t steps = 0;
    Plateau plateau;
    TokenizerKind tokenizer = TokenizerKind::Character;
    bool special_tokens = false;
    std::vector<std::string> vocabulary;                  ///< empty in a model from elsewhere: prompts are then ids
    std::shared_ptr<const Parameters<float>> parameters;  ///< never null
    AlignedVector<float> first_moments, second_moments;   ///< empty in a file that holds only a model, which cannot be resumed
    bool resumable() const { return !first_moments.empty(); }
};

/// Writes atomically (see AtomicFile). Without moments the text is left out too. Throws FileError, ShapeError for moments that do not fit
/// the parameters.
void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// The model alone, its numbers rounded to the nearest in half precision (F16): half the size, to be looked at and used, not resumed.
/// Throws FileError; FileFault::Range for a number that half precision cannot hold.
void write_half_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Throws FileError with the file's name and the tensor or field at fault. Nothing is allocated for tensors before every size is checked
/// against the file's, nor for the model before every tensor has the shape that the settings ask for.
/// A file without metadata of ours is read as a GPT-2 model from elsewhere (see gpt2_weights.hpp): no vocabulary, no moments.
Checkpoint read_checkpoint(const std::filesystem::path& path, ReadLimits limits = {});
/// The same from any source; `config_json` is the text of a Hugging Face config.json, "" without one.
Checkpoint read_checkpoint(ByteSource& source, const std::string& config_json = "");

/// "run/model.safetensors" -> "run/model.previous.safetensors".
std::filesystem::path previous_checkpoint(const std::filesystem::path& path);
/// write_checkpoint(), but what was at `path` before stays as previous_checkpoint(path); `path` itself holds a whole file at every moment.
/// `before_renaming` is called when the new file is on the disk and only has to be given its name.
void replace_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint, const std::function<void()>& before_renaming = {});

}  // namespace attn
