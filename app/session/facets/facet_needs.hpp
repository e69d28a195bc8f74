#pragma once
/// What facets are computed from: which other facets come first, and which part of a pass they read.

#include <memory>
#include <optional>
#include <vector>

#include "app/session/facets/results.hpp"
#include "app/session/states/facet.hpp"
#include "engine/plan/stage.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

/// What must be computed first, as far as the results so far tell.
std::vector<Request> needs_of(const Request& request, const Results& results);

/// The stage whose part is all that a facet reads of an outline, so that facet::Beginning can suffice; none if it reads more.
std::optional<StageId> looks_at(const Facet& facet);

/// Whether a facet is quick and needs nothing but its own state. A state is only shown once all its requested facets of this kind are
/// ready.
bool comes_with_trace(const Request& request);

/// The state's trace or, where it is not known, its beginning; null if neither is.
std::shared_ptr<const Snapshot> known_snapshot(const StateRef& state, const Results& results);

/// The part of an outline that a facet of one stage needs; none if the trace is whole.
std::optional<facet::Inside> part_needed(const Facet& facet, const Trace<float>& trace);

/// The part of an outline needed to read a map; none if the map is computed a few rows at a time.
std::optional<facet::Inside> part_of_map(const Trace<float>& trace, const StageId& map);

/// The slice that is subtracted from another.
facet::ChangedSlice subtracted_slice(const facet::ChangedSlice& slice);

}  // namespace attn::app
