#pragma once
/// Heads that the processes of a job computed side by side (tensor parallelism), as those of one model. Every process records the heads,
/// columns and partial sums that it has; what all of them have is the same in each.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/io/array_file.hpp"
#include "engine/recording/recording.hpp"

namespace attn::recording {

/// A tensor of which the processes have parts, in the order of their ranks, without its values; nothing if the parts do not fit.
std::optional<NamedArray> joined_header(const std::vector<const NamedArray*>& parts, const Joint& joint);

/// The same with its values. A sum of partial sums is of F32, of F64 parts of F64. Throws FileError as values_as(), naming `source`.
NamedArray joined_values(const std::vector<NamedArray>& parts, const Joint& joint, const std::string& source);

/// What all processes of a job recorded, as one recording, of the steps that all of them have: `ranks` are theirs, at least two. Nothing
/// unless the numbers show that they are parts of one model: the same numbers enter the attentions and leave them, but heads differ.
/// `before`: the recording as it was joined earlier; null if it was not. Throws FileError if a step cannot be read.
std::optional<Recording> join_ranks(std::span<const Recording> ranks, const Recording* before);

}  // namespace attn::recording
