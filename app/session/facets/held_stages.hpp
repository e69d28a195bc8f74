#pragma once
/// Numbers that an outline leaves out, computed for files and commands. These calls block, and throw Cancelled once `stop` is requested;
/// views request facet::Inside instead.

#include <memory>
#include <stop_token>

#include "app/session/values/snapshot.hpp"

namespace attn::app {

/// The snapshot's trace with all layers, in case only the beginning of its pass is known.
std::shared_ptr<const Trace<float>> complete_trace(const Snapshot& snapshot, const std::stop_token& stop = {});
/// The snapshot's trace, or the part of its outline around a stage. Throws Error for a stage that the model does not have, and
/// DocumentError if the part is too large.
std::shared_ptr<const Trace<float>> trace_with(const Snapshot& snapshot, const StageId& id, const std::stop_token& stop = {});
/// The files whose numbers a snapshot was computed from, for while_intact().
struct FilesBehind {
    const Snapshot& snapshot;
    void require_intact() const;
};
/// Throws DocumentError if the part around a stage, with all its maps, takes more than `room_mib`.
void expect_room_for_part(const Trace<float>& trace, const StageId& id, double room_mib);
/// A trace with every stage. Throws DocumentError if it is too large.
std::shared_ptr<const Trace<float>> whole_trace(const Snapshot& snapshot, const std::stop_token& stop = {});

}  // namespace attn::app
