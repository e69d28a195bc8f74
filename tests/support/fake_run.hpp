#pragma once
/// A fake training run in which a step adds 1 to every parameter. Records the calls of a test.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "app/session/training/live_run.hpp"
#include "engine/tensor/error.hpp"
#include "tests/support/fake_computation.hpp"

namespace attn::app::test {

/// Shared by all runs of an engine and the test.
struct FakeTraining {
    Gate step_gate;                      ///< every step waits at it
    Gate heads_gate;                     ///< so do head scores
    Gate room_gate;                      ///< and a run that is given its share of the memory for moments
    std::atomic<std::int64_t> bad = -1;  ///< the step with a non-finite loss
    std::mutex mutex;
    std::vector<std::int64_t> made;  ///< steps of each run, in the order of the runs
    std::size_t budget = 4000;       ///< of the history, in bytes
    /// After this many steps, each takes some time, so that an endless run does not keep a processor busy.
    std::int64_t fast = 10'000;
};

inline RunSettings fake_settings(std::int64_t steps = 0) {
    RunSettings settings = default_run(TaskKind::Copy);
    settings.model.d_model = 4;
    settings.model.num_heads = 1;
    settings.model.num_layers = 1;
    settings.model.d_ff = 4;
    settings.model.vocab_size = 3;
    settings.model.context_length = 4;
    settings.evaluate_every = 5;
    settings.stop = {.steps = steps};
    return settings;
}

class FakeRun : public LiveRun {
public:
    FakeRun(const RunSettings& settings, std::shared_ptr<FakeTraining> shared, std::int64_t steps = 0)
        : settings_(with_vocabulary(settings)), shared_(std::move(shared)), steps_(steps), parameters_(settings_.model),
          history_(shared_->budget) {
        if (settings.batch_size == 666) throw ConfigError("666 is an evil batch size");
        const std::lock_guard lock(shared_->mutex);
        number_ = shared_->made.size();
        shared_->made.push_back(0);
        fill();
        keep();
    }

    const RunSettings& settings() const override { return settings_; }
    const Tokenizer& tokenizer() const override { return tokenizer_; }
    const std::string& probe() const override { return probe_; }
    const std::string& probe_source() const override { return probe_source_; }
    const History& history() const override { return history_; }
    void limit_history(std::size_t budget_bytes) override {
        shared_->room_gate.pass({});
        history_.limit(std::min(budget_bytes, shared_->budget));
    }
    void hold(std::span<const Moment> named) override { history_.hold(named); }
    std::int64_t steps() const override { return steps_; }
    Moment keep() override {
        if (history_.moments().empty() || history_.moments().back().step < steps_)
            history_.add({steps_, std::make_shared<const Parameters<float>>(parameters_)});
        return history_.moments().back();
    }
    void apply(const RunSettings& settings) override {
        if (settings.batch_size == 666) throw ConfigError("666 is an evil batch size");
        settings_.train = settings.train;
        settings_.batch_size = settings.batch_size;
        settings_.stop = settings.stop;
    }
    LossPoint step(const std::stop_token& stop) override {
        shared_->step_gate.pass(stop);
        if (steps_ >= shared_->fast) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (steps_ + 1 == shared_->bad) throw Error("step 7: layers.0.attention.scores is not finite");
        ++steps_;
        fill();
        if (history_.wants(steps_)) keep();
        {
            const std::lock_guard lock(shared_->mutex);
            shared_->made[number_] = steps_;
        }
        return {.step = steps_, .loss = 1.0 / static_cast<double>(steps_), .tokens = 10 * steps_};
    }
    bool evaluation_due() const override { return evaluated_ != steps_ && steps_ % settings_.evaluate_every == 0; }
    ValidationPoint evaluate(const std::stop_token&) override { return {evaluated_ = steps_, 0, 0}; }
    std::string finished() const override {
        return settings_.stop.steps > 0 && steps_ >= settings_.stop.steps ? std::to_string(steps_) + " steps done" : "";
    }
    HeadPoint score_heads(const Moment& moment, const std::stop_token& stop) override {
        shared_->heads_gate.pass(stop);
        HeadPoint point{moment.step, std::vector<HeadScore>(1)};
        point.scores[0].entropy = static_cast<double>(moment.parameters->data()[0]);
        return point;
    }
    std::shared_ptr<const HeldOutTexts> held_out() const override { return nullptr; }
    Checkpoint checkpoint() const override {
        Checkpoint taken;
        taken.settings = settings_;
        taken.steps = steps_;
        taken.vocabulary = tokenizer_.vocabulary();
        taken.parameters = std::make_shared<const Parameters<float>>(parameters_);
        return taken;
    }

private:
    /// As a real run: its model knows the symbols of its tokenizer, whatever the settings say.
    static RunSettings with_vocabulary(RunSettings settings) {
        settings.model.vocab_size = 3;
        return settings;
    }

    void fill() {
        for (std::int64_t i = 0; i < parameters_.count(); ++i) parameters_.data()[i] = static_cast<float>(steps_);
    }

    RunSettings settings_;
    std::shared_ptr<FakeTraining> shared_;
    std::size_t number_ = 0;
    std::int64_t steps_ = 0, evaluated_ = -1;
    Parameters<float> parameters_;
    History history_;
    Tokenizer tokenizer_{TokenizerKind::Character, std::vector<std::string>{"abc"}, false};
    std::string probe_ = "abca", probe_source_;
};

inline TrainingEngine fake_engine(const std::shared_ptr<FakeTraining>& shared) {
    return {[shared](const RunSettings& settings) { return std::make_unique<FakeRun>(settings, shared); },
            [shared](const std::filesystem::path& path) {
                if (path == "damaged") throw Error("damaged: not a checkpoint");
                return std::make_unique<FakeRun>(fake_settings(), shared);
            },
            [shared](const Checkpoint& from) { return std::make_unique<FakeRun>(from.settings, shared, from.steps); }};
}

}  // namespace attn::app::test
