#pragma once
/// The graph of a recording that says nothing but the names of its tensors.

#include <filesystem>

#include "engine/recording/recording.hpp"

namespace attn::recording {

/// What stands before a name's last "/" is the attention, what follows it the stage; the usual order of stages is assumed. Throws like the
/// readers of .safetensors, .npz and .npy.
RecordedGraph graph_of_names(const std::filesystem::path& file);

}  // namespace attn::recording
