#pragma once
/// A recording after numbers of it were changed by hand: what the recorded code would have made of them.

#include <stop_token>
#include <vector>

#include "engine/recording/recorded_trace.hpp"
#include "engine/trace/edit.hpp"

namespace attn::recording {

/// The trace of a group with these edits. `unedited`: as trace_of() makes it. Stages that read a changed one, through whatever stands
/// between them in the graph, are computed again; see stage_after() in recompute.hpp. Those that cannot be are not in the trace any more,
/// nor in its plan, but among Trace::lost; so are those of which the recording does not say what they were computed from, if they come
/// after the edit. All others keep the recorded bits. Throws FileError if the step cannot be read, and Cancelled.
Trace<float> with_edits(Trace<float> unedited, const RecordedGroup& recorded, const std::vector<Edit>& edits,
                        const std::stop_token& stop = {});

}  // namespace attn::recording
