#pragma once
/// The curves of a run of any length within bounded memory: of older steps fewer and fewer points stay.

#include <cstddef>
#include <vector>

#include "engine/train/curve.hpp"

namespace attn {

/// Points of a curve, and rows of the heads' table, that are kept at most.
inline constexpr std::size_t kMostCurvePoints = 100'000;
/// Evaluations whose head scores are kept even where their rows are more.
inline constexpr std::size_t kFewestHeadPoints = 1'000;

/// Adds a point, later than all before, to a curve of a run. When the curve then holds more than kMostCurvePoints, the newer half stays as
/// it is, and of the older half at most half: the first point, the steps that a spacing divides, and at the beginning of the run a closer
/// spacing, so that a logarithmic axis has enough points everywhere. The spacing is the smallest power of two that does. A point that
/// stays is the measured one, never an average. What stays depends on the points alone, so a run that was interrupted keeps the same ones.
void add_point(std::vector<LossPoint>& curve, LossPoint point);
void add_point(std::vector<ValidationPoint>& curve, ValidationPoint point);
/// Likewise for head scores, by their rows in heads.csv.
void add_point(std::vector<HeadPoint>& curve, HeadPoint point);

}  // namespace attn
