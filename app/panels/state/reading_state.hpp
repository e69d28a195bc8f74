#pragma once
/// The state of the totals, the lens and the histogram.

#include <cstdint>
#include <memory>
#include <optional>

namespace attn::app {

struct RolloutTerms;

struct TotalsView {
    bool rollout = true;                ///< otherwise the plain mean
    std::optional<std::int64_t> up_to;  ///< the last layer included; none: all
    std::shared_ptr<const RolloutTerms> last_terms;
};

struct LensView {
    std::optional<std::int64_t> hovered_row;  ///< hovered in this frame
    /// Two results and texts of them (see LensReading::serial), and the largest change between them.
    struct Changes {
        std::uint64_t now = 0, before = 0;
        std::int64_t batch = 0, batch_before = 0;
        bool operator==(const Changes&) const = default;
    };
    Changes changes{};
    float largest_change = 1;
};

struct HistogramView {
    bool whole = false;  ///< of the whole tensor instead of the shown matrix
    bool log = false;    ///< logarithmic bar heights
};

}  // namespace attn::app
