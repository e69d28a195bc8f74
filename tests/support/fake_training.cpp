#include "tests/support/fake_training.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace attn::app::test {
namespace {

double rise(double step, double middle, double width) { return 1 / (1 + std::exp(-(step - middle) / width)); }

RunSettings settings_of(const FakeRun& fake) {
    RunSettings settings;
    settings.model.num_layers = fake.layers;
    settings.model.num_heads = fake.heads;
    settings.train.schedule = {.kind = ScheduleKind::Cosine, .rate = fake.rate, .warm_up_steps = 50, .total_steps = fake.limit};
    settings.stop.steps = fake.limit;
    return settings;
}

HeadPoint heads_at(const FakeRun& fake, std::int64_t step) {
    HeadPoint point{step, {}};
    const auto s = static_cast<double>(step);
    for (std::int64_t layer = 0; layer < fake.layers; ++layer) {
        for (std::int64_t head = 0; head < fake.heads; ++head) {
            const double wobble = 0.02 * std::sin(s / 40 + static_cast<double>(7 * layer + 3 * head));
            HeadScore score{.id = {Stage::Weights, static_cast<int>(layer)}, .head = head};
            score.previous_token = 0.08 + wobble + (layer == 0 && head == 1 ? 0.86 * rise(s, 330, 40) : 0.05 * rise(s, 500, 200));
            score.induction = 0.06 - wobble + (layer == 1 && head == 2 ? 0.9 * rise(s, 520, 45) : 0.0);
            score.first_token = 0.1 + wobble + (head == 3 ? 0.35 * rise(s, 500, 200) : 0.1 * rise(s, 700, 200));
            score.same_token = 0.05;
            score.entropy = 1.9 - 1.2 * rise(s, 400, 100);
            score.distance = 3 + wobble;
            score.rows = 9;
            score.induction_rows = 5;
            point.scores.push_back(score);
        }
    }
    return point;
}

}  // namespace

RunCurves fake_curves(const FakeRun& fake) {
    RunCurves curves{.run = fake.run, .settings = settings_of(fake), .losses = {}, .validations = {}, .heads = {}, .serial = 1};
    std::mt19937 random(static_cast<unsigned>(fake.run));
    std::normal_distribution<double> noise(0, 1);
    const auto loss_at = [&](double s) { return 0.07 + 3.2 / (1 + 0.4 * s / 100) * (1 - 0.97 * rise(s, 500, 90)); };
    for (std::int64_t step = 0; step <= fake.steps; ++step) {
        const auto s = static_cast<double>(step);
        if (step > 0)
            curves.losses.push_back({.step = step,
                                     .loss = loss_at(s) * (1 + 0.12 * noise(random)),
                                     .accuracy = rise(s, 450, 80),
                                     .gradient_norm = 0.3 + 0.6 * std::exp(-std::pow((s - 420) / 150, 2)) + 0.05 * noise(random),
                                     .learning_rate = learning_rate(curves.settings.train.schedule, step - 1),
                                     .seconds = s * 0.016,
                                     .tokens = step * 512});
        if (step % 25 == 0 || step == fake.steps) {
            curves.validations.push_back({step, loss_at(s) * 1.08, rise(s, 450, 80)});
            curves.heads.push_back(heads_at(fake, step));
        }
    }
    return curves;
}

std::shared_ptr<RunStatus> fake_status(const FakeRun& fake) {
    auto status = std::make_shared<RunStatus>();
    status->serial = static_cast<std::uint64_t>(fake.steps);
    status->run = fake.run;
    status->phase = fake.phase;
    status->settings = settings_of(fake);
    status->step = status->parameters_step = fake.steps;
    for (std::int64_t step = 0; step < fake.steps; step += std::max<std::int64_t>(fake.steps / 200, 1)) status->moments.push_back(step);
    status->moments.push_back(fake.steps);
    status->history_bytes = std::size_t{38} << 20;
    status->history_budget = std::size_t{256} << 20;
    status->probe = "akmzqakmzq";
    status->tokens_per_second = 31240;
    status->ms_per_step = 16.4;
    status->seconds = 20;
    status->seconds_left = 12;
    return status;
}

TrainingReport fake_report(const std::vector<FakeRun>& runs) {
    TrainingReport report{std::make_shared<const RunStatus>(), {}};
    for (const FakeRun& fake : runs) {
        report.runs.push_back(fake_curves(fake));
        report.status = fake_status(fake);
    }
    return report;
}

}  // namespace attn::app::test
