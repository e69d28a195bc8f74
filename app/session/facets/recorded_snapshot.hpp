#pragma once
/// What was recorded, as views see it.

#include <stop_token>
#include <vector>

#include "app/session/states/state.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/trace/edit.hpp"

namespace attn::app {

/// The shown step of a recording with edits, and its words; without a state and a serial number. Throws as recording::trace_of().
Snapshot recorded_snapshot(const RecordedNumbers& numbers, const std::vector<Edit>& edits, double most_mib,
                           const std::stop_token& stop = {});

}  // namespace attn::app
