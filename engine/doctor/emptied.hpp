#pragma once
/// Lines of a map that a mistake leaves without any score: what programs make of them.
///
/// Such a line must not explain whatever is recorded there. A program makes the same of all of them: equal weights, zeros, NaN, or, where
/// a large number was added to the scores and they survived it, the weights that the line would have without its mask.

#include "engine/doctor/estimate.hpp"

namespace attn::doctor {

/// Maps [H,T,S] that hold one of these everywhere; the last ones only when `unmasked` (the scaled scores) is given.
std::vector<Estimate> fillings(const Sequence& sizes, SoftmaxAxis axis, const Estimate* unmasked, const Rounding& rounding);

/// The candidate that agrees with the recording in most of these cells.
const Estimate& best_filling(const std::vector<Estimate>& candidates, const std::vector<double>& recorded,
                             const std::vector<std::size_t>& cells);

/// Puts the numbers of `filling` in these cells.
void fill(Estimate& out, const Estimate& filling, const std::vector<std::size_t>& cells);

}  // namespace attn::doctor
