#pragma once
/// The outcome of comparing a trace with the reference: plain data.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/stage.hpp"

namespace attn::reference {

/// Largest error of one recorded stage against the reference's own forward pass from the same parameters and tokens.
struct StageError {
    StageId id;
    double max_abs = 0;            ///< largest |fast - reference|; +inf when one is NaN and the other is not
    double max_excess = 0;         ///< largest |fast - reference| / allowed; > 1 fails
    std::int64_t worst_index = 0;  ///< flat index of the cell with max_excess
    /// How far rounding alone carries this stage of this model; 0 while that was not needed to judge. See verify().
    double rounding = 0;
    bool ok = true;
    std::string problem;  ///< what is wrong besides numbers: missing, not expected here, another shape, another mask; else empty
};

struct Verification {
    std::vector<StageError> stages;  ///< in the trace's order; stages that the trace lacks come last
    double max_abs = 0;
    bool ok = true;
    /// First failing stage; nullptr when ok.
    const StageError* first_failure() const {
        for (const StageError& stage : stages)
            if (!stage.ok) return &stage;
        return nullptr;
    }
};

}  // namespace attn::reference
