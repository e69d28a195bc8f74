#pragma once
/// The drawn curves of all training runs. New points are added incrementally until a long run is thinned out.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "app/session/training/training_report.hpp"
#include "app/widgets/curve.hpp"

namespace attn::app {

/// The score that a head's history curve shows.
enum class HeadPattern : std::uint8_t { Strongest, PreviousToken, FirstToken, SameToken, Induction, Entropy, Distance };
inline constexpr int kHeadPatterns = 7;
/// Such as "strongest", "previous-token".
std::string_view pattern_name(HeadPattern pattern);
/// Whether a pattern is a share of the weight (0 to 1), for which a formation step is defined.
inline bool is_share(HeadPattern pattern) { return pattern < HeadPattern::Entropy; }

struct HeadCurves {
    StageId id;
    std::int64_t head = 0;
    std::array<Curve, kHeadPatterns> by_pattern;  ///< the one for Strongest stays empty
    /// The pattern with the largest share for this head.
    HeadPattern strongest = HeadPattern::PreviousToken;
    const Curve& curve(HeadPattern pattern) const {
        return by_pattern[static_cast<std::size_t>(pattern == HeadPattern::Strongest ? strongest : pattern)];
    }
};

struct RunLines {
    std::uint64_t run = 0;
    Curve loss, gradient_norm, learning_rate;
    Curve validation_loss, validation_accuracy;
    std::vector<HeadCurves> heads;
    std::optional<std::size_t>
        forming;  ///< of the heads, the one whose pattern has risen most since the run began; in a branch, the strongest
    std::optional<std::size_t> lowest;  ///< the point of `validation_loss` with the lowest loss
    /// The last step of any curve.
    double last_step() const;
};

/// The step at which a head formed a pattern: from there on, more than half of its weight has followed it. Negative if it has not.
double forms_at(const Curve& curve);

class TrainCurves {
public:
    /// Adds the report's new points. `smoothing` applies to training losses and gradient norms.
    void update(const TrainingReport& report, double smoothing);
    const std::vector<RunLines>& runs() const { return runs_; }  ///< in the report's order
    const RunLines* find(std::uint64_t run) const;

private:
    std::vector<RunLines> runs_;
};

}  // namespace attn::app
