#pragma once
/// The result of comparing a trace with the reference; plain data.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/stage.hpp"

namespace attn::reference {

/// The largest error of a recorded stage relative to the reference's own forward pass with the same parameters and tokens.
struct StageError {
    StageId id;
    double max_abs = 0;            ///< largest |fast - reference|; +inf if exactly one of them is NaN
    double max_excess = 0;         ///< largest |fast - reference| / allowed; > 1 fails
    std::int64_t worst_index = 0;  ///< flat index of the cell with max_excess
    std::int64_t nan = 0;          ///< cells that are NaN in both, and so agree
    /// How far rounding alone moves this stage; 0 if it was not needed to decide. See verify().
    double rounding = 0;
    bool ok = true;
    std::string problem;  ///< a problem other than wrong numbers (missing, unexpected, wrong shape or mask), else empty
};

struct Verification {
    std::vector<StageError> stages;      ///< in the trace's order; stages that the trace lacks come last
    std::vector<std::size_t> largest{};  ///< indices of the stages with an error, the largest max_abs first
    double max_abs = 0;
    bool ok = true;
    /// The first failing stage; nullptr if all agree.
    const StageError* first_failure() const {
        for (const StageError& stage : stages)
            if (!stage.ok) return &stage;
        return nullptr;
    }
    /// The first stage with NaN; nullptr if there is none.
    const StageError* first_nan() const {
        for (const StageError& stage : stages)
            if (stage.nan > 0) return &stage;
        return nullptr;
    }
};

}  // namespace attn::reference
