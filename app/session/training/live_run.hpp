#pragma once
/// The interface through which the trainer drives a run: one of the engine's, or a test double.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "app/session/states/held_out_texts.hpp"
#include "app/session/training/training_report.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/train/checkpoint.hpp"
#include "engine/train/history.hpp"

namespace attn::app {

/// What a resumed run had already reported before, its name, and how it came about.
struct PastPoints {
    std::vector<LossPoint> losses;
    std::vector<ValidationPoint> validations;
    std::vector<HeadPoint> heads;
    std::string name{};
    std::optional<RunCourse> course{};
};

/// To be used by one thread at a time. Methods and errors are those of TrainingRun.
class LiveRun {
public:
    virtual ~LiveRun() = default;
    virtual const RunSettings& settings() const = 0;
    virtual const Tokenizer& tokenizer() const = 0;
    virtual const std::string& probe() const = 0;
    virtual const std::string& probe_source() const = 0;
    virtual const History& history() const = 0;
    /// Changes the memory budget of the history.
    virtual void limit_history(std::size_t budget_bytes) = 0;
    virtual void hold(std::span<const Moment> named) = 0;
    virtual std::int64_t steps() const = 0;
    /// The current parameters, stored in the history as its newest moment.
    virtual Moment keep() = 0;
    virtual void apply(const RunSettings& settings) = 0;
    virtual LossPoint step(const std::stop_token& stop) = 0;
    virtual bool evaluation_due() const = 0;
    virtual ValidationPoint evaluate(const std::stop_token& stop) = 0;
    virtual std::string finished() const = 0;
    /// Scores every head on the probe.
    virtual HeadPoint score_heads(const Moment& moment, const std::stop_token& stop) = 0;
    /// A few held-out sequences, always the same.
    virtual std::shared_ptr<const HeldOutTexts> held_out() const = 0;
    /// To be called once, before the first step.
    virtual PastPoints take_past() { return {}; }
    /// A checkpoint from which the run can be resumed.
    virtual Checkpoint checkpoint() const = 0;
};

/// Creates runs, whose history has no limit until it is given one; tests replace it.
struct TrainingEngine {
    std::function<std::unique_ptr<LiveRun>(const RunSettings&)> start;  ///< throws ConfigError
    std::function<std::unique_ptr<LiveRun>(const std::filesystem::path&)>
        open;  ///< opens a run's folder or checkpoint; throws FileError, ConfigError
    std::function<std::unique_ptr<LiveRun>(const Checkpoint&)> branch;  ///< a run that goes on from there, without a past
    static TrainingEngine engine();
};

/// The number of held-out examples shown.
inline constexpr std::int64_t kExamples = 6;

}  // namespace attn::app
