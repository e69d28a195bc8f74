#pragma once
/// Compares a trace with the plain double-precision reference, stage by stage.

#include <functional>
#include <stop_token>

#include "engine/reference/forward.hpp"
#include "engine/reference/verification.hpp"
#include "engine/trace/tap.hpp"
#include "engine/trace/trace.hpp"

namespace attn::reference {

/// Tolerance |error| <= atol + rtol |expected| of `float` against `double`.
inline constexpr double kFloatAtol = 2e-5;
inline constexpr double kFloatRtol = 1e-4;

/// A float's own rounding errors may grow from layer to layer (large scores without norms decide who attends to whom by their last
/// digits). Where the tolerance above is exceeded, a stage is therefore allowed this many times what rounding every stage of the
/// reference to float does to it: fast products round once a term, the reference once a stage.
inline constexpr double kRoundingAllowance = 16;

/// Recomputes everything with plain double loops and compares. A NaN where the other has none fails; NaN against NaN agrees.
/// A stage that the trace lacks, has too many of or has in another order fails, and so does another shape, or a recorded mask that
/// allows other cells than the settings say. Throws Cancelled once `stop` is requested.
template <class Scalar>
Verification verify(const Trace<Scalar>& trace, double atol = kFloatAtol, double rtol = kFloatRtol, std::stop_token stop = {});

/// Some positions of a stage of a part, from `first` on.
template <class Scalar>
using StageRowsObserver = std::function<void(const StageId& id, std::int64_t first, const Tensor<Scalar>& value, const Mask* mask)>;
/// Shows the stages of a part, each whole or in rows one after the other, such as Recomputation::show_rows_around(). May be called twice.
template <class Scalar>
using ShowStages = std::function<void(const StageRowsObserver<Scalar>&)>;

/// The same of one part of the model (see Plan::part_around), from the recorded numbers of what it reads, which the outline has. What was
/// wrong before it is not seen here. Holds a few stages at a time, or those rows of them that are shown at a time.
template <class Scalar>
Verification verify_part(const Trace<Scalar>& outline, const StageId& within, const ShowStages<Scalar>& show, double atol = kFloatAtol,
                         double rtol = kFloatRtol, std::stop_token stop = {});

/// The comparison alone, against stages that are known to be right. `rounding` is empty or holds for every expected stage what may be
/// added to its tolerance kRoundingAllowance times.
template <class Scalar>
Verification compare(const std::vector<RecordedStage<Scalar>>& recorded, const std::vector<ReferenceStage>& expected, double atol,
                     double rtol, const std::vector<double>& rounding = {});

}  // namespace attn::reference
