#pragma once
/// Which stage is computed from which: the graph of a configuration.

#include <vector>

#include "engine/model/config.hpp"
#include "engine/trace/stage.hpp"

namespace attn {

/// The stages that `id` is computed from, in the order in which its formula names them; empty for tokens and for positions.
/// context has {dropped, v}; residual_1 has {the stream before the sublayer, the sublayer's result}.
std::vector<StageId> stage_inputs(const Config& config, const StageId& id);

}  // namespace attn
