#pragma once
/// Maps training steps to kept moments.

#include <cstddef>
#include <cstdint>
#include <span>

namespace attn {

/// Index in `kept` (the moments' steps, ascending, at least one) of the moment nearest to `step`; of two equally near ones the earlier.
std::size_t nearest_moment(std::span<const std::int64_t> kept, std::int64_t step);
/// Throws Error if a run of `steps` steps has not made this step.
void require_step(std::int64_t steps, std::int64_t step);
/// The step of the kept moment nearest to `step`, which the user named. Throws Error for a step beyond the run's `steps`, and for one
/// halfway between two moments, naming both.
std::int64_t named_moment(std::span<const std::int64_t> kept, std::int64_t steps, std::int64_t step);

}  // namespace attn
