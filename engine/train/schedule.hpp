#pragma once
/// The learning rate over a run.

#include <cstdint>

namespace attn {

enum class ScheduleKind : std::uint8_t {
    Constant,
    Linear,  ///< falls in a straight line to the last rate
    Cosine,  ///< falls along half a cosine (Loshchilov and Hutter, 2017)
};

/// Every kind may begin with a linear warm-up.
struct Schedule {
    ScheduleKind kind = ScheduleKind::Constant;
    double rate = 1e-3;              ///< after the warm-up
    double last_rate = 0;            ///< at `total_steps` and after
    std::int64_t warm_up_steps = 0;  ///< step s < warm_up_steps has rate (s + 1) / warm_up_steps
    std::int64_t total_steps = 1000;
    bool operator==(const Schedule&) const = default;
};

/// Learning rate of step `step`, counted from 0. Throws ConfigError for a rate that is negative or not finite, or negative steps.
double learning_rate(const Schedule& schedule, std::int64_t step);

}  // namespace attn
