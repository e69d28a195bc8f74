#pragma once
/// Numbers that an outline leaves out, computed where a file or a command needs them. These calls take as long as that takes: views ask
/// for facet::Inside instead.

#include <memory>

#include "app/session/facets/snapshot.hpp"

namespace attn::app {

/// The snapshot's trace, or of an outline the part around a stage. Throws Error for a stage that the model does not have.
std::shared_ptr<const Trace<float>> trace_with(const Snapshot& snapshot, const StageId& id);
/// Every stage.
std::shared_ptr<const Trace<float>> whole_trace(const Snapshot& snapshot);

}  // namespace attn::app
