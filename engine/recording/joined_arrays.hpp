#pragma once
/// The parts that several processes have of a tensor, as one tensor.

#include <optional>
#include <string>
#include <vector>

#include "engine/io/array_file.hpp"
#include "engine/recording/recording.hpp"

namespace attn::recording {

/// A tensor of which the processes have parts, in the order of their ranks, without its values; nothing if the parts do not fit.
std::optional<NamedArray> joined_header(const std::vector<const NamedArray*>& parts, const Joint& joint);

/// The same with its values. A sum of partial sums is of F32, of F64 parts of F64. Throws FileError as values_as(), naming `source`.
NamedArray joined_values(const std::vector<NamedArray>& parts, const Joint& joint, const std::string& source);

}  // namespace attn::recording
