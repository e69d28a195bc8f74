#pragma once
/// Which part of an outline a stage is looked at in.

#include "app/session/facet.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

/// More than this of attention maps are not all held at once.
inline constexpr double kMapsMiB = 96;

/// The part around a stage that the model has.
facet::Inside inside_with(const Trace<float>& trace, const StageId& id);
/// Whether the part holds a stage of its own.
bool holds(const facet::Inside& inside, const StageId& id);
/// What the stages that it holds take, MiB.
double mib_of(const facet::Inside& inside, const Trace<float>& outline);

}  // namespace attn::app
