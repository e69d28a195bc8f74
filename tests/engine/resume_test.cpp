/// A saved and resumed run continues as if it had not been interrupted.

#include "engine/train/resume.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "engine/tensor/error.hpp"
#include "tests/engine/io_support.hpp"

namespace attn::test {
namespace {

/// A small run with everything that has a state: dropout, warm-up and a cosine that is still falling when the run is interrupted.
RunSettings small_run(TaskKind task) {
    RunSettings run = default_run(task);
    run.task.length = 5;
    run.model.d_model = 16;
    run.model.num_heads = 2;
    run.model.num_layers = 2;
    run.model.d_ff = 32;
    run.seed = 7;
    run.batch_size = 6;
    run.train.forward.dropout = {.attention = 0.1, .residual = 0.2, .embedding = 0.1};
    run.train.schedule = {ScheduleKind::Cosine, 3e-3, 1e-4, 4, 30};
    run.stop = {.steps = 30};
    if (task == TaskKind::Addition) run.task.symbols = 11;
    if (task == TaskKind::Stories || task == TaskKind::FillIn) run.task.length = 16;
    return run;
}

std::vector<std::uint64_t> bits_of_steps(TrainingRun& run, int steps) {
    std::vector<std::uint64_t> bits;
    for (int i = 0; i < steps; ++i) {
        const LossPoint point = run.step();
        for (const double value : {point.loss, point.accuracy, point.gradient_norm, point.learning_rate})
            bits.push_back(std::bit_cast<std::uint64_t>(value));
    }
    return bits;
}

bool same_bits(const Parameters<float>& a, const Parameters<float>& b) {
    return a.count() == b.count() && std::memcmp(a.data(), b.data(), sizeof(float) * static_cast<std::size_t>(a.count())) == 0;
}

TEST(Resume, EveryTaskGoesOnBitForBit) {
    const TemporaryFolder folder;
    for (const TaskInfo& task : tasks()) {
        SCOPED_TRACE(task.name);
        constexpr int kBefore = 9, kAfter = 8;
        TrainingRun whole(small_run(task.kind));
        bits_of_steps(whole, kBefore);

        TrainingRun cut(small_run(task.kind));
        bits_of_steps(cut, kBefore);
        write_checkpoint(folder / "model.safetensors", take_checkpoint(cut));
        const auto resumed = resume_run(read_checkpoint(folder / "model.safetensors"));
        EXPECT_EQ(resumed->steps(), kBefore);

        EXPECT_EQ(bits_of_steps(whole, kAfter), bits_of_steps(*resumed, kAfter));
        EXPECT_TRUE(same_bits(whole.state().parameters(), resumed->state().parameters()));
        EXPECT_EQ(whole.evaluate().loss, resumed->evaluate().loss);
    }
}

TEST(Resume, ALongerRunLearnsInEveryTask) {
    for (const TaskInfo& task : tasks()) {
        SCOPED_TRACE(task.name);
        RunSettings settings = small_run(task.kind);
        settings.train.schedule.last_rate = 0;
        TrainingRun ended(settings);
        bits_of_steps(ended, 30);
        ASSERT_EQ(learning_rate(ended.settings().train.schedule, 30), 0);
        const auto resumed = resume_run(take_checkpoint(ended));
        RunSettings longer = resumed->settings();
        longer.stop.steps = 40;
        resumed->apply(longer);
        EXPECT_EQ(learns_nothing(resumed->settings(), resumed->steps()), "");
        for (int step = 30; step < 40; ++step) {
            const Parameters<float> before = resumed->state().parameters();
            EXPECT_GT(resumed->step().learning_rate, 0);
            EXPECT_FALSE(same_bits(before, resumed->state().parameters())) << step;
        }
        EXPECT_NE(resumed->finished(), "");
    }
}

TEST(Resume, AContinuedRunThatIsCutAgainGoesOnBitForBit) {
    RunSettings settings = small_run(TaskKind::Sort);
    TrainingRun whole(settings);
    bits_of_steps(whole, 30);
    RunSettings longer = whole.settings();
    longer.stop.steps = 90;
    whole.apply(longer);
    bits_of_steps(whole, 3);  // while the learning rate is still rising
    const TemporaryFolder folder;
    write_checkpoint(folder / "model.safetensors", take_checkpoint(whole));
    const auto resumed = resume_run(read_checkpoint(folder / "model.safetensors"));
    EXPECT_EQ(bits_of_steps(whole, 12), bits_of_steps(*resumed, 12));
    EXPECT_TRUE(same_bits(whole.state().parameters(), resumed->state().parameters()));
}

TEST(Resume, MissesNothingThatTheNextStepsDependOn) {
    // Negative control: without any one part of the state the losses diverge.
    const auto next = [](const Checkpoint& checkpoint) { return bits_of_steps(*resume_run(checkpoint), 3); };
    TrainingRun run(small_run(TaskKind::Copy));
    bits_of_steps(run, 9);
    const Checkpoint whole = take_checkpoint(run);
    const auto expected = next(whole);
    ASSERT_EQ(expected, next(whole));
    Checkpoint other = whole;
    std::fill(other.first_moments.begin(), other.first_moments.end(), 0.0F);
    EXPECT_NE(expected, next(other));
    other = whole;
    std::fill(other.second_moments.begin(), other.second_moments.end(), 1.0F);
    EXPECT_NE(expected, next(other));
    other = whole;
    ++other.steps;
    EXPECT_NE(expected, next(other));
    other = whole;
    ++other.settings.seed;
    EXPECT_NE(expected, next(other));
}

TEST(Resume, TheUsersOwnTextIsInTheCheckpoint) {
    const TemporaryFolder folder;
    RunSettings settings = small_run(TaskKind::Text);
    std::string text;
    for (int i = 0; i < 60; ++i) text += "the cat sat on mat " + std::to_string(i * i) + "; ";
    settings.task.text = std::make_shared<const std::string>(text);
    settings.task.text_name = "cats.txt";
    TrainingRun run(settings);
    bits_of_steps(run, 4);
    write_checkpoint(folder / "cats.safetensors", take_checkpoint(run));
    const auto resumed = resume_run(read_checkpoint(folder / "cats.safetensors"));
    EXPECT_EQ(*resumed->settings().task.text, text);
    EXPECT_EQ(bits_of_steps(run, 5), bits_of_steps(*resumed, 5));
}

TEST(Resume, IsRefusedWithTheReason) {
    TrainingRun run(small_run(TaskKind::Copy));
    run.step();
    Checkpoint model = take_checkpoint(run);
    model.first_moments.clear();
    model.second_moments.clear();
    EXPECT_THROW(resume_run(model), ConfigError);
    Checkpoint other = take_checkpoint(run);
    std::swap(other.vocabulary.front(), other.vocabulary.back());
    EXPECT_THROW(resume_run(other), ConfigError);
    other = take_checkpoint(run);
    ++other.settings.task.symbols;
    EXPECT_THROW(resume_run(other), ConfigError);
}

}  // namespace
}  // namespace attn::test
