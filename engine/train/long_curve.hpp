#pragma once
/// Bounds the memory of a run's curves, whatever its length, by thinning out older steps.

#include <cstddef>
#include <vector>

#include "engine/train/curve.hpp"

namespace attn {

/// Maximum number of points in a curve, and of rows in the heads' table.
inline constexpr std::size_t kMostCurvePoints = 100'000;
/// Evaluations whose head scores are kept even if they have more rows than that.
inline constexpr std::size_t kFewestHeadPoints = 1'000;

/// Appends a point, later than all others, to a curve. If the curve then has more than kMostCurvePoints, its newer half is left alone and
/// its older half is thinned to at most half: it keeps the first point, steps divisible by a spacing, and a finer spacing near the
/// beginning, so that a logarithmic axis has enough points everywhere. The spacing is the smallest power of two that suffices. Points are
/// never averaged. The result depends only on the points, so an interrupted run keeps the same ones.
void add_point(std::vector<LossPoint>& curve, LossPoint point);
void add_point(std::vector<ValidationPoint>& curve, ValidationPoint point);
/// The same for head scores, counted in rows of heads.csv.
void add_point(std::vector<HeadPoint>& curve, HeadPoint point);

}  // namespace attn
