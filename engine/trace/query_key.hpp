#pragma once
/// A single attention score broken down: query times key, dimension by dimension.

#include <cmath>
#include <optional>
#include <vector>

#include "engine/trace/trace.hpp"

namespace attn {

/// q · k for one query and one key of a head.
struct QueryKeyProduct {
    std::vector<float> query, key;          ///< [D] recorded
    std::vector<double> products, running;  ///< [D] query[d] * key[d], and their prefix sums; in double
    double sum = 0;                         ///< the last of `running`
    /// The score in the trace. The engine adds floats in its own order, so the last digits may differ from `sum`; after an edit it may be
    /// anything.
    float score = 0;
    /// Upper bound on the rounding error of adding D float products in any order: D ulp of sum |q k|.
    double rounding = 0;
    bool recorded_differs() const { return !(std::abs(score - sum) <= rounding); }
};

/// `scores` is the scores or cross_scores stage. Throws Error for a stage that was not recorded, or a head, sequence or position that it
/// does not have. Pass `score` if the scores stage itself was not recorded.
QueryKeyProduct query_key_product(const Trace<float>& trace, const StageId& scores, std::int64_t b, std::int64_t h, std::int64_t t,
                                  std::int64_t s, std::optional<float> score = {});

}  // namespace attn
