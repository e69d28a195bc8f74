#pragma once
/// The graph of a recording that says nothing but the names of its tensors.

#include "engine/recording/recording.hpp"

namespace attn::recording {

/// What stands before a name's last "/" or "." is the attention, what follows it the stage; the usual order of stages is assumed. Names
/// that are no stages, or have too many axes, stand around the attentions. Throws like the readers of .safetensors, .npz and .npy.
RecordedGraph graph_of_names(const StepFile& file);

}  // namespace attn::recording
