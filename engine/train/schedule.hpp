#pragma once
/// The learning rate over a run.

#include <cstdint>
#include <optional>
#include <vector>

namespace attn {

enum class ScheduleKind : std::uint8_t {
    Constant,
    Linear,  ///< falls in a straight line to the last rate
    Cosine,  ///< falls along half a cosine (Loshchilov and Hutter, 2017)
};

/// Where a schedule got another end while its run was under way.
struct Continuation {
    std::int64_t from_step = 0;  ///< finished steps at that moment
    double from_rate = 0;        ///< with which the next step would have been made
    bool operator==(const Continuation&) const = default;
};

/// Every kind may begin with a linear warm-up.
struct Schedule {
    ScheduleKind kind = ScheduleKind::Constant;
    double rate = 1e-3;              ///< after the warm-up
    double last_rate = 0;            ///< at `total_steps` and after
    std::int64_t warm_up_steps = 0;  ///< step s < warm_up_steps has rate (s + 1) / warm_up_steps
    std::int64_t total_steps = 1000;
    std::optional<Continuation> continued = {};  ///< see continued_schedule()
    bool operator==(const Schedule&) const = default;
};

/// Learning rate of step `step`, counted from 0. Throws ConfigError for a rate that is negative or not finite, or negative steps.
double learning_rate(const Schedule& schedule, std::int64_t step);

/// `wanted` for a run that stands after `step` steps of `before`. With the same total_steps nothing happens to the rates. With another
/// total the run joins the curve that a run of the new total follows from its first step: within the first tenth of the steps left the
/// rate goes in a straight line from where it stood to that curve. So a run that had come down to rate 0 neither stays there nor jumps
/// (the usual re-warming of continued training, Ibrahim et al. 2024), it ends at the last rate like any other, and where old and new curve
/// agree (the warm-up) the continued run has the bits of one that had the new total from the start. A constant rate has no end to be moved.
Schedule continued_schedule(const Schedule& before, Schedule wanted, std::int64_t step);

struct RateAt {
    std::int64_t step = 0;  ///< counted from 0
    double rate = 0;
};

/// The rates between which the others lie: of the first of the steps [first, last), of the one at which a warm-up or continuation has
/// arrived, and of the last one. All rates of these steps are 0 if and only if those are. Empty without steps.
std::vector<RateAt> turning_rates(const Schedule& schedule, std::int64_t first, std::int64_t last);

}  // namespace attn
