#include "engine/train/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "engine/tensor/error.hpp"

namespace attn {

double learning_rate(const Schedule& schedule, std::int64_t step) {
    for (const double rate : {schedule.rate, schedule.last_rate})
        if (!(rate >= 0 && std::isfinite(rate)))
            throw ConfigError("the learning rate is " + std::to_string(rate) + ": 0 or more is possible");
    if (schedule.warm_up_steps < 0 || schedule.total_steps < 0)
        throw ConfigError("a schedule of " + std::to_string(schedule.warm_up_steps) + " warm-up steps of " +
                          std::to_string(schedule.total_steps) + ": 0 or more are possible");
    if (step < schedule.warm_up_steps) return schedule.rate * static_cast<double>(step + 1) / static_cast<double>(schedule.warm_up_steps);
    if (schedule.kind == ScheduleKind::Constant) return schedule.rate;
    const std::int64_t falling = std::max<std::int64_t>(1, schedule.total_steps - schedule.warm_up_steps);
    const double progress = std::min(1.0, static_cast<double>(step - schedule.warm_up_steps) / static_cast<double>(falling));
    const double left = schedule.kind == ScheduleKind::Linear ? 1 - progress : 0.5 * (1 + std::cos(std::numbers::pi * progress));
    return schedule.last_rate + (schedule.rate - schedule.last_rate) * left;
}

}  // namespace attn
