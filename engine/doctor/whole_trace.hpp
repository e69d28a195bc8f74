#pragma once
/// Mistakes outside of the attention, which a whole trace of this program shows: positions, residuals and norms.

#include <optional>

#include "engine/doctor/diagnosis.hpp"
#include "engine/io/array_file.hpp"

namespace attn::doctor {

/// The first stage of an "attnscope-trace/1" file, outside of its attentions, that is not what the stages before it make; Bug::Other with
/// a sentence that says which mistake reproduces it. Nothing when all is well, and for other files.
/// Throws FileError for metadata that cannot be read.
std::optional<Diagnosis> judge_whole_trace(const ArrayFile& file);

}  // namespace attn::doctor
