#pragma once
/// The state of the totals, the lens and the histogram.

#include <cstdint>
#include <optional>

namespace attn::app {

struct TotalsView {
    bool rollout = true;                ///< otherwise the plain mean
    std::optional<std::int64_t> up_to;  ///< the last layer included; none: all
};

struct LensView {
    std::optional<std::int64_t> hovered_row;  ///< hovered in this frame
};

struct HistogramView {
    bool whole = false;  ///< of the whole tensor instead of the shown matrix
    bool log = false;    ///< logarithmic bar heights
};

}  // namespace attn::app
