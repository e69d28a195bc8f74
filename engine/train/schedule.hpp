#pragma once
/// The learning rate over the course of a run.

#include <cstdint>
#include <optional>
#include <vector>

namespace attn {

enum class ScheduleKind : std::uint8_t {
    Constant,
    Linear,  ///< decreases linearly to last_rate
    Cosine,  ///< decreases along half a cosine (Loshchilov and Hutter, 2017)
};

/// Records that a schedule's end was changed while its run was under way.
struct Continuation {
    std::int64_t from_step = 0;  ///< finished steps at that time
    double from_rate = 0;        ///< the rate that the next step would have had
    bool operator==(const Continuation&) const = default;
};

/// Any kind may begin with a linear warm-up.
struct Schedule {
    ScheduleKind kind = ScheduleKind::Constant;
    double rate = 1e-3;              ///< after the warm-up
    double last_rate = 0;            ///< at `total_steps` and later
    std::int64_t warm_up_steps = 0;  ///< step s < warm_up_steps has rate (s + 1) / warm_up_steps of `rate`
    std::int64_t total_steps = 1000;
    std::optional<Continuation> continued = {};  ///< see continued_schedule()
    bool operator==(const Schedule&) const = default;
};

/// Learning rate of step `step`, counted from 0. Throws ConfigError for a rate that is negative or not finite, or negative steps.
double learning_rate(const Schedule& schedule, std::int64_t step);

/// The schedule `wanted` for a run that has made `step` steps under `before`. If total_steps is unchanged, so are the rates. Otherwise the
/// run joins the curve of a run with the new total: over the first tenth of the remaining steps the rate moves linearly from its current
/// value to that curve. So a run that had reached rate 0 neither stays there nor jumps (the usual re-warming of continued training, Ibrahim
/// et al., 2024), and it ends at the last rate like any other. Where both curves agree, as in the warm-up, the run has the same bits as one
/// with the new total from the start. A constant schedule has no end to move.
Schedule continued_schedule(const Schedule& before, Schedule wanted, std::int64_t step);

struct RateAt {
    std::int64_t step = 0;  ///< counted from 0
    double rate = 0;
};

/// Rates that bound all others: those of the first of the steps [first, last), of the step at which a warm-up or continuation is complete,
/// and of the last. All rates of these steps are 0 if and only if these are. Empty if there are no steps.
std::vector<RateAt> turning_rates(const Schedule& schedule, std::int64_t first, std::int64_t last);

}  // namespace attn
