#pragma once
/// Saving a training run and taking it up again, bit for bit.

#include <filesystem>
#include <memory>

#include "engine/train/training_run.hpp"

namespace attn {

/// What a `.safetensors` file written here holds: the parameters (a decoder-only model's under the names and in the shapes of GPT-2),
/// AdamW's moments under `optimizer.`, and as metadata the settings of the run, its vocabulary and its number of steps.
struct Checkpoint {
    RunSettings settings;
    std::int64_t steps = 0;
    std::vector<std::string> vocabulary;
    std::shared_ptr<const Parameters<float>> parameters;
    AlignedVector<float> first_moments, second_moments;  ///< empty in a file that holds only a model
};

/// Writes atomically (see AtomicFile). Throws FileError.
void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);
/// Throws FileError with the file's name and the tensor or field at fault; nothing is allocated for tensors before every size is checked.
Checkpoint read_checkpoint(const std::filesystem::path& path);

}  // namespace attn
