#pragma once
/// Finds mistakes outside attention in a complete trace of this program: positions, residuals and norms.

#include <optional>

#include "engine/doctor/diagnosis.hpp"
#include "engine/io/array_file.hpp"

namespace attn::doctor {

/// The first stage of an "attnscope-trace/1" file, outside its attentions, that does not follow from the stages before it; the result is
/// Bug::Other with a sentence naming the mistake that reproduces it. nullopt if there is none, and for other files. Throws FileError for
/// unreadable metadata.
std::optional<Diagnosis> judge_whole_trace(const ArrayFile& file);

}  // namespace attn::doctor
