#pragma once
/// Compares a trace with the plain double-precision reference, stage by stage.

#include <functional>
#include <stop_token>

#include "engine/reference/forward.hpp"
#include "engine/reference/verification.hpp"
#include "engine/trace/tap.hpp"
#include "engine/trace/trace.hpp"

namespace attn::reference {

/// Tolerance of float results: |error| <= atol + rtol |expected|.
inline constexpr double kFloatAtol = 2e-5;
inline constexpr double kFloatRtol = 1e-4;

/// Float rounding errors may grow from layer to layer: with large scores and no norms, the last digits can decide who attends to whom. A
/// stage that exceeds the tolerance above is therefore allowed this many times the error that rounding every stage to float causes in the
/// reference. The factor accounts for fast products rounding every term, not just every stage.
inline constexpr double kRoundingAllowance = 16;

/// Recomputes everything with plain double loops and compares. NaN agrees only with NaN. Missing, superfluous or misordered stages fail, as
/// do wrong shapes and recorded masks that contradict the settings. Throws Cancelled once `stop` is requested.
template <class Scalar>
Verification verify(const Trace<Scalar>& trace, double atol = kFloatAtol, double rtol = kFloatRtol, std::stop_token stop = {});

/// Called with some positions of a stage, from `first` on.
template <class Scalar>
using StageRowsObserver = std::function<void(const StageId& id, std::int64_t first, const Tensor<Scalar>& value, const Mask* mask)>;
/// Shows the stages of a part, each as a whole or some rows at a time, like Recomputation::show_rows_around(). May be called twice.
template <class Scalar>
using ShowStages = std::function<void(const StageRowsObserver<Scalar>&)>;

/// Verifies one part of the model (see Plan::part_around) from the recorded stages that it reads, which the outline must have; errors
/// before the part are not noticed. Holds only a few stages, or a few rows of them, at a time.
template <class Scalar>
Verification verify_part(const Trace<Scalar>& outline, const StageId& within, const ShowStages<Scalar>& show, double atol = kFloatAtol,
                         double rtol = kFloatRtol, std::stop_token stop = {});

/// Only the comparison, against stages known to be correct. `rounding` is empty, or has an entry per expected stage, kRoundingAllowance
/// times which is added to its tolerance.
template <class Scalar>
Verification compare(const std::vector<RecordedStage<Scalar>>& recorded, const std::vector<ReferenceStage>& expected, double atol,
                     double rtol, const std::vector<double>& rounding = {});

}  // namespace attn::reference
