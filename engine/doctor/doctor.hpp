#pragma once
/// Reads recorded attention of any framework, recomputes every stage from the previous ones and names the mistake behind a difference.

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/doctor/diagnosis.hpp"
#include "engine/io/array_file.hpp"

namespace attn::doctor {

/// Maximum number of cells in the maps of one sequence, over all heads, that can be judged.
inline constexpr double kMostJudgedCells = 0x1p24;

/// Examines a .safetensors or .npz file. Names, shapes and metadata are described in assets/help/6-doctor.md. Throws FileError naming file,
/// tensor and expected shape if the file cannot be read or its tensors are inconsistent, Cancelled once `stop` is requested.
Diagnosis examine_file(const std::filesystem::path& path, const std::stop_token& stop = {});
/// The same for arrays in memory.
Diagnosis examine(const ArrayFile& file, const std::stop_token& stop = {});

/// The same for a recording that is supplied in parts, because it would need too much memory as a whole.
class Examination {
public:
    /// A part contains complete attentions, or none. Throws like examine().
    void add(const ArrayFile& part, const std::stop_token& stop = {});
    Diagnosis conclude();

private:
    Diagnosis judge();

    std::vector<Diagnosis> attentions_;
    std::optional<Diagnosis> outside_;  ///< the first mistake outside all attentions
    std::vector<Finding> skipped_;      ///< arrays that could not be read, one each
    std::vector<std::string> names_;    ///< array names, kept until an attention is found
    bool has_other_parts_ = false;
};

}  // namespace attn::doctor
