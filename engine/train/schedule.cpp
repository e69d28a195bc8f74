#include "engine/train/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "engine/tensor/error.hpp"

namespace attn {
namespace {

void require(const Schedule& schedule) {
    for (const double rate : {schedule.rate, schedule.last_rate, schedule.continued.value_or(Continuation{}).from_rate})
        if (!(rate >= 0 && std::isfinite(rate))) throw ConfigError("the learning rate is " + std::to_string(rate) + "; expected 0 or more");
    if (schedule.warm_up_steps < 0 || schedule.total_steps < 0)
        throw ConfigError("a schedule of " + std::to_string(schedule.warm_up_steps) + " warm-up steps of " +
                          std::to_string(schedule.total_steps) + "; expected 0 or more");
}

/// The rate for a run with this schedule from its first step.
double uninterrupted_rate(const Schedule& schedule, std::int64_t step) {
    if (step < schedule.warm_up_steps) return schedule.rate * static_cast<double>(step + 1) / static_cast<double>(schedule.warm_up_steps);
    if (schedule.kind == ScheduleKind::Constant) return schedule.rate;
    const std::int64_t falling = std::max<std::int64_t>(1, schedule.total_steps - schedule.warm_up_steps);
    const double progress = std::min(1.0, static_cast<double>(step - schedule.warm_up_steps) / static_cast<double>(falling));
    const double left = schedule.kind == ScheduleKind::Linear ? 1 - progress : 0.5 * (1 + std::cos(std::numbers::pi * progress));
    return schedule.last_rate + (schedule.rate - schedule.last_rate) * left;
}

/// How many steps a continued schedule takes to reach the new curve.
std::int64_t joining_steps(const Schedule& schedule) {
    constexpr std::int64_t kShare = 10;
    return schedule.continued ? std::max<std::int64_t>(0, schedule.total_steps - schedule.continued->from_step) / kShare : 0;
}

}  // namespace

double learning_rate(const Schedule& schedule, std::int64_t step) {
    require(schedule);
    const double rate = uninterrupted_rate(schedule, step);
    if (!schedule.continued || step < schedule.continued->from_step) return rate;
    const std::int64_t made = step - schedule.continued->from_step, joining = joining_steps(schedule);
    if (made >= joining) return rate;
    const double from = schedule.continued->from_rate;
    return from + (rate - from) * static_cast<double>(made + 1) / static_cast<double>(joining + 1);
}

Schedule continued_schedule(const Schedule& before, Schedule wanted, std::int64_t step) {
    wanted.continued = before.continued;
    if (wanted.total_steps == before.total_steps) return wanted;
    // A second change at the same step starts from the rate before the first.
    const bool again = before.continued && before.continued->from_step == step;
    const double rate = again ? before.continued->from_rate : learning_rate(before, step);
    wanted.continued.reset();
    // A constant rate has no end to move.
    if (wanted.kind != ScheduleKind::Constant && learning_rate(wanted, step) != rate) wanted.continued = {step, rate};
    return wanted;
}

std::vector<RateAt> turning_rates(const Schedule& schedule, std::int64_t first, std::int64_t last) {
    std::vector<RateAt> rates;
    if (first >= last) return rates;
    const std::int64_t joined = schedule.continued ? schedule.continued->from_step + joining_steps(schedule) : 0;
    const std::int64_t risen = std::max(joined, schedule.warm_up_steps - 1);
    for (const std::int64_t step : {first, risen, last - 1})
        if (rates.empty() || (step > rates.back().step && step < last)) rates.push_back({step, learning_rate(schedule, step)});
    return rates;
}

}  // namespace attn
