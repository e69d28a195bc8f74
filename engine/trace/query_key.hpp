#pragma once
/// One score taken apart: query times key, dimension by dimension.

#include <cmath>
#include <optional>
#include <vector>

#include "engine/trace/trace.hpp"

namespace attn {

/// q · k of one query and key of one head.
struct QueryKeyProduct {
    std::vector<float> query, key;          ///< [D] recorded
    std::vector<double> products, running;  ///< [D] query[d] * key[d], and the sum of those up to and with d; in double
    double sum = 0;                         ///< the last of `running`
    /// What the trace holds. The engine adds in floats and in an order of its own, so that it may differ from `sum` in the last digits;
    /// an edit makes it differ at will.
    float score = 0;
    /// The most that adding D float products in any order can differ from the true sum: D ulp of Σ |q k|.
    double rounding = 0;
    bool recorded_differs() const { return !(std::abs(score - sum) <= rounding); }
};

/// Of self- or cross-attention, as `scores` (the scores or cross_scores stage) says. Throws Error for a stage that was not recorded and
/// for a head, sequence or position that it does not have. `score`: of a stage that was not recorded, the number there.
QueryKeyProduct query_key_product(const Trace<float>& trace, const StageId& scores, std::int64_t b, std::int64_t h, std::int64_t t,
                                  std::int64_t s, std::optional<float> score = {});

}  // namespace attn
