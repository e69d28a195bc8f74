#pragma once
/// Tensors of a snapshot as files for spreadsheets, NumPy and PyTorch.

#include <filesystem>
#include <optional>

#include "app/session/document/tensor_choice.hpp"
#include "app/session/facets/snapshot.hpp"
#include "engine/explain/not_finite.hpp"
#include "engine/trace/gradient_trace.hpp"

namespace attn::app {

/// The numbers chosen, without the axes that were fixed. `gradients`: of the snapshot, where they are what is chosen.
/// Throws Error for a stage, parameter, sequence or head that is not there and for gradients that are not.
Tensor<float> chosen_tensor(const Snapshot& snapshot, const TensorChoice& choice, const GradientTrace<float>* gradients = nullptr);

/// RFC 4180. A line for every row of the last axis: the index on each other axis, under its name, and beside positions the token there;
/// then the numbers, exact. Columns are named by index and text ("3 cat"), or by the index alone where sequences differ.
/// Throws as chosen_tensor(), and FileError.
void write_tensor_csv(const std::filesystem::path& path, const Snapshot& snapshot, const TensorChoice& choice,
                      const GradientTrace<float>* gradients = nullptr);
/// float32, the token ids int32.
void write_tensor_npy(const std::filesystem::path& path, const Snapshot& snapshot, const TensorChoice& choice,
                      const GradientTrace<float>* gradients = nullptr);
/// The whole stage or parameter, whatever sequence or head was chosen, with its mask (see engine/io/trace_file.hpp).
void write_tensor_safetensors(const std::filesystem::path& path, const Snapshot& snapshot, const TensorChoice& choice,
                              const GradientTrace<float>* gradients = nullptr);
/// The whole trace, of an outline part by part in the memory of one; returns the first number that is not finite.
std::optional<NotFiniteCell> write_snapshot_trace(const std::filesystem::path& path, const Snapshot& snapshot);
/// The gradients of all of it and of the parameters.
void write_snapshot_gradients(const std::filesystem::path& path, const Snapshot& snapshot, const GradientTrace<float>& gradients);

}  // namespace attn::app
