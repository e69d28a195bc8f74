#pragma once
/// Reads recorded attention from any framework, recomputes every stage from the one before and names the mistake behind a difference.

#include <filesystem>

#include "engine/doctor/diagnosis.hpp"
#include "engine/io/array_file.hpp"

namespace attn::doctor {

/// Of a .safetensors or .npz file. Names, shapes and metadata are described in assets/help/6-doctor.md. Throws FileError naming
/// file, tensor and expected shape for a file that cannot be read or whose tensors do not fit together.
Diagnosis examine_file(const std::filesystem::path& path);
/// The same of arrays in memory.
Diagnosis examine(const ArrayFile& file);

}  // namespace attn::doctor
