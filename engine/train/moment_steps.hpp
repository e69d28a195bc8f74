#pragma once
/// From a training step to the kept moment that stands for it.

#include <cstddef>
#include <cstdint>
#include <span>

namespace attn {

/// Place in `kept` (steps of moments: ascending, at least one) of the one nearest to `step`; of two equally near the earlier.
std::size_t nearest_moment(std::span<const std::int64_t> kept, std::int64_t step);
/// Throws Error for a step that a run of `steps` steps has not made.
void require_step(std::int64_t steps, std::int64_t step);
/// The step of the kept moment that a person means by `step`: the nearest. Throws Error for a step after the run's `steps`, and for one
/// halfway between two moments, naming both.
std::int64_t named_moment(std::span<const std::int64_t> kept, std::int64_t steps, std::int64_t step);

}  // namespace attn
