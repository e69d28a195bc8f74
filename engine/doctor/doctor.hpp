#pragma once
/// Reads recorded attention from any framework, recomputes every stage from the one before and names the mistake behind a difference.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/doctor/diagnosis.hpp"
#include "engine/io/array_file.hpp"

namespace attn::doctor {

/// Cells of the maps of one sequence, of all heads together: larger ones are not judged.
inline constexpr double kMostJudgedCells = 0x1p24;

/// Of a .safetensors or .npz file. Names, shapes and metadata are described in assets/help/6-doctor.md. Throws FileError naming
/// file, tensor and expected shape for a file that cannot be read or whose tensors do not fit together.
Diagnosis examine_file(const std::filesystem::path& path);
/// The same of arrays in memory.
Diagnosis examine(const ArrayFile& file);

/// The same of a recording that comes in parts, because all of it would take too much memory.
class Examination {
public:
    /// One attention or several, with all that belongs to them, or none. Throws as examine().
    void add(const ArrayFile& part);
    Diagnosis conclude();

private:
    std::vector<Diagnosis> attentions_;
    std::optional<Diagnosis> outside_;  ///< the first mistake outside of the attentions
    std::vector<std::string> names_;    ///< of arrays, as long as no attention is among them
    bool has_other_parts_ = false;
};

}  // namespace attn::doctor
