#pragma once
/// What dropout leaves behind: zeros, and everything else divided by 1 - rate.

#include <optional>

#include "engine/doctor/estimate.hpp"

namespace attn::doctor {

/// Dropout between two recordings of the same map.
struct DropoutEvidence {
    double factor = 1;       ///< 1/(1 - rate)
    std::int64_t zeros = 0;  ///< cells that became 0
    bool spared = false;     ///< none did, of so few that it may have been luck
    Estimate expected;       ///< what the rate makes of every cell, with zeros where they are recorded
    double rate() const { return 1 - 1 / factor; }
    bool present() const { return (zeros > 0 || spared) && factor > 1; }
};

/// The rate that fits `dropped` best, given what it was before.
DropoutEvidence find_dropout(const std::vector<double>& dropped, const Estimate& weights, const Rounding& rounding);

/// The rate with which some pattern of dropped weights gives exactly this context; nothing when no pattern does, or when the rows are
/// too long to try. A row counts when its pattern is the only one possible.
///   context [H,T,Dv]  weights [H,T,S]  v [H,S,Dv]
std::optional<double> find_hidden_dropout(const std::vector<double>& context, const Estimate& weights, const Estimate& v,
                                          const Sequence& sizes, const Rounding& rounding);

}  // namespace attn::doctor
