#pragma once
/// Writes tensors of a snapshot to files for spreadsheets, NumPy and PyTorch. All throw Cancelled as `watch` asks.

#include <filesystem>
#include <optional>

#include "app/session/document/number_table.hpp"
#include "app/session/document/tensor_choice.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/explain/not_finite.hpp"
#include "engine/io/write_watch.hpp"
#include "engine/trace/gradient_trace.hpp"

namespace attn::app {

/// The chosen numbers, without the axes that were fixed. `gradients` must belong to the snapshot and is needed if gradients were chosen.
/// Throws Error for a stage, parameter, sequence or head that does not exist, and for missing gradients.
Tensor<float> chosen_tensor(const Snapshot& snapshot, const TensorChoice& choice, const GradientTrace<float>* gradients = nullptr,
                            const WriteWatch& watch = {});

/// RFC 4180. One line per row of the last axis: first the index on every other axis, with the token beside positions, then the numbers at
/// full precision. Columns are named by index and text ("3 cat"), or by index alone if sequences differ. Throws as chosen_tensor(), and
/// FileError.
void write_tensor_csv(const std::filesystem::path& path, const Snapshot& snapshot, const TensorChoice& choice,
                      const GradientTrace<float>* gradients = nullptr, const WriteWatch& watch = {});
/// Writes float32 numbers, or int32 token ids.
void write_tensor_npy(const std::filesystem::path& path, const Snapshot& snapshot, const TensorChoice& choice,
                      const GradientTrace<float>* gradients = nullptr, const WriteWatch& watch = {});
/// The same for a matrix as it is shown, by the path's extension; a missing number is an empty field or NaN. Throws FileError, and Error
/// for another extension.
void write_table(const std::filesystem::path& path, const NumberTable& table, const WriteWatch& watch = {});
/// Writes the complete stage or parameter, whatever sequence or head was chosen, with its mask (see engine/trace/trace_file.hpp).
void write_tensor_safetensors(const std::filesystem::path& path, const Snapshot& snapshot, const TensorChoice& choice,
                              const GradientTrace<float>* gradients = nullptr);
/// Writes the whole trace, an outline part by part using the memory of one part. Returns the first non-finite number.
std::optional<NotFiniteCell> write_snapshot_trace(const std::filesystem::path& path, const Snapshot& snapshot,
                                                  const WriteWatch& watch = {});
/// Writes the gradients of all stages and parameters.
void write_snapshot_gradients(const std::filesystem::path& path, const Snapshot& snapshot, const GradientTrace<float>& gradients);

}  // namespace attn::app
