#pragma once
/// Detects dropout: some numbers become zero, and the others are divided by 1 - rate.

#include <optional>

#include "engine/doctor/estimate.hpp"

namespace attn::doctor {

/// Dropout between two recordings of the same map.
struct DropoutEvidence {
    double factor = 1;       ///< 1/(1 - rate)
    std::int64_t zeros = 0;  ///< cells that became 0
    bool spared = false;     ///< no cell was dropped, but there are so few that this may be chance
    Estimate expected;       ///< the map under this rate, with zeros where they were recorded
    double rate() const { return 1 - 1 / factor; }
    bool present() const { return (zeros > 0 || spared) && factor > 1; }
};

/// The dropout rate that best fits `dropped`, given the map before.
DropoutEvidence find_dropout(const std::vector<double>& dropped, const Estimate& weights, const Rounding& rounding);

/// Sets an estimate to 0 where `dropped` is 0, unless those cells look like a mask.
void keep_zeros(Estimate& weights, const std::vector<double>& dropped, const Sequence& sizes);

/// The rate at which some pattern of dropped weights gives exactly this context; nullopt if no pattern does, or if rows are too long to
/// try. A row counts only if its pattern is unique. With `unscaled`, the kept weights are not divided by 1 - rate, and the result is 0.
///   context [H,T,Dv]  weights [H,T,S]  v [H,S,Dv]
std::optional<double> find_hidden_dropout(const std::vector<double>& context, const Estimate& weights, const Estimate& v,
                                          const Sequence& sizes, const Rounding& rounding, bool unscaled);

}  // namespace attn::doctor
