#pragma once
/// Python source code that recomputes a stage of a snapshot.

#include "app/session/facets/snapshot.hpp"
#include "engine/snippet/snippet.hpp"

namespace attn::app {

/// Throws Error if nothing has been computed or the model has no such stage.
Snippet stage_snippet(const Snapshot& snapshot, const StageId& id, const SnippetOptions& options);

}  // namespace attn::app
