#pragma once
/// Python source code that recomputes a stage of a snapshot.

#include <stop_token>

#include "app/session/values/snapshot.hpp"
#include "engine/snippet/snippet.hpp"

namespace attn::app {

/// Throws Error if nothing has been computed or the model has no such stage, Cancelled once `stop` is requested.
Snippet stage_snippet(const Snapshot& snapshot, const StageId& id, const SnippetOptions& options, const std::stop_token& stop = {});

}  // namespace attn::app
