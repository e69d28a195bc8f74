#pragma once
/// The curves of all training runs, ready to be drawn: what is new is added once, until older points are taken out of a long run.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "app/session/training/training_report.hpp"
#include "app/widgets/curve.hpp"

namespace attn::app {

/// What a head's curve in the history shows.
enum class HeadPattern : std::uint8_t { Strongest, PreviousToken, FirstToken, SameToken, Induction, Entropy, Distance };
inline constexpr int kHeadPatterns = 7;
/// "strongest", "previous-token", ...
std::string_view pattern_name(HeadPattern pattern);
/// True for shares of the weight (0 to 1), which have a moment at which they form.
inline bool is_share(HeadPattern pattern) { return pattern < HeadPattern::Entropy; }

struct HeadCurves {
    StageId id;
    std::int64_t head = 0;
    std::array<Curve, kHeadPatterns> by_pattern;  ///< that of Strongest stays empty
    /// The pattern among the shares that this head has shown most of.
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
};

/// The step at which a head took up a pattern: the first from which on more than half of its weight follows it; below 0 when it has not.
double forms_at(const Curve& curve);

class TrainCurves {
public:
    /// Takes over what the report has more than before; `smoothing` is that of the training losses and gradient norms.
    void update(const TrainingReport& report, double smoothing);
    const std::vector<RunLines>& runs() const { return runs_; }  ///< in the report's order
    const RunLines* find(std::uint64_t run) const;
    /// Last step of any curve.
    double last_step() const;

private:
    std::vector<RunLines> runs_;
};

}  // namespace attn::app
