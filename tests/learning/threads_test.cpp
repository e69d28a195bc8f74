/// The same seed gives the same losses, bit for bit, with any number of threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "engine/ops/parallel.hpp"
#include "engine/train/training_run.hpp"

namespace attn {
namespace {

struct Losses {
    std::vector<double> numbers;
    std::vector<float> parameters;
    bool operator==(const Losses&) const = default;
};

Losses losses_with(int threads, RunSettings settings) {
    const ThreadScope scope(threads);
    TrainingRun run(settings);
    Losses losses;
    for (int i = 0; i < 6; ++i) {
        const LossPoint point = run.step();
        losses.numbers.insert(losses.numbers.end(), {point.loss, point.accuracy, point.gradient_norm});
    }
    const ValidationPoint point = run.evaluate();
    losses.numbers.insert(losses.numbers.end(), {point.loss, point.accuracy});
    const Parameters<float>& parameters = run.state().parameters();
    losses.parameters.assign(parameters.data(), parameters.data() + parameters.count());
    return losses;
}

class Threads : public testing::TestWithParam<TaskInfo> {};
INSTANTIATE_TEST_SUITE_P(Learning, Threads, testing::ValuesIn(tasks().begin(), tasks().end()), [](const auto& tested) {
    std::string name = tested.param.name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

TEST_P(Threads, DoNotChangeASingleBit) {
    RunSettings settings = default_run(GetParam().kind);
    const Losses one = losses_with(1, settings);
    EXPECT_EQ(one, losses_with(2, settings));
    EXPECT_EQ(one, losses_with(3, settings));
    settings.seed = 2;
    EXPECT_NE(one.numbers, losses_with(2, settings).numbers) << "another seed is another run";
}

TEST_P(Threads, DoNotChangeDropout) {
    RunSettings settings = default_run(GetParam().kind);
    settings.train.forward.dropout.attention = 0.1;
    settings.train.forward.dropout.residual = 0.2;
    settings.train.forward.dropout.embedding = 0.1;
    settings.batch_size = 7;  // cannot be divided evenly
    EXPECT_EQ(losses_with(1, settings), losses_with(2, settings));
}

}  // namespace
}  // namespace attn
