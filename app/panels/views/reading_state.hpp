#pragma once
/// What is looked at of the readings of a whole trace, and of the histogram.

#include <cstdint>
#include <optional>

namespace attn::app {

struct TotalsView {
    bool rollout = true;                ///< else the plain mean
    std::optional<std::int64_t> up_to;  ///< the last layer that counts; none: all
};

struct LensView {
    std::optional<std::int64_t> hovered_row;  ///< under the mouse in this frame
};

struct HistogramView {
    bool whole = false;  ///< the whole tensor instead of the shown matrix
    bool log = false;    ///< heights are logarithms of the counts
};

}  // namespace attn::app
