#pragma once
/// What programs produce for rows or columns of a map that a mistake leaves without any score.
///
/// Such a line must not count as explained whatever is recorded there. A program treats all of them alike: equal weights, zeros, NaN or, if
/// a large number was added to the scores and they survived it, the weights that the line would have without a mask.

#include "engine/doctor/estimate.hpp"

namespace attn::doctor {

/// Candidate maps [H,T,S], each filled in one of these ways; the last way only if `unmasked` (the scaled scores) is given.
std::vector<Estimate> fillings(const Sequence& sizes, SoftmaxAxis axis, const Estimate* unmasked, const Rounding& rounding);

/// The candidate that agrees with the recording in the largest number of these cells.
const Estimate& best_filling(const std::vector<Estimate>& candidates, const std::vector<double>& recorded,
                             const std::vector<std::size_t>& cells);

/// Where an estimate is NaN, that is expected, rather than anything allowed.
void expect_nan(Estimate& out);

/// Copies these cells from `filling`.
void fill(Estimate& out, const Estimate& filling, const std::vector<std::size_t>& cells);

}  // namespace attn::doctor
