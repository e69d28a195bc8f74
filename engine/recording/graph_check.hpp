#pragma once
/// Whether a graph from a file can be followed.

#include <string_view>

#include "engine/recording/recording.hpp"

namespace attn::recording {

/// Throws FileError(Schema) naming `file` for a name that occurs twice, for one that is unusable as a name, and for stages whose inputs
/// lead back to themselves.
void expect_sound(const RecordedGraph& graph, std::string_view file);

}  // namespace attn::recording
