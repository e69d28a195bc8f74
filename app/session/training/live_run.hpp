#pragma once
/// What the trainer drives: a training run of the engine, or a test's stand-in for one.

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "app/session/training/training_report.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/train/checkpoint.hpp"
#include "engine/train/history.hpp"

namespace attn::app {

/// What a run that is taken up from its folder has told before.
struct PastPoints {
    std::vector<LossPoint> losses;
    std::vector<ValidationPoint> validations;
    std::vector<HeadPoint> heads;
};

/// One thread at a time. The calls and their errors are those of TrainingRun.
class LiveRun {
public:
    virtual ~LiveRun() = default;
    virtual const RunSettings& settings() const = 0;
    virtual const Tokenizer& tokenizer() const = 0;
    virtual const std::string& probe() const = 0;
    virtual const std::string& probe_source() const = 0;
    virtual const History& history() const = 0;
    /// Another budget for the history from now on.
    virtual void limit_history(std::size_t budget_bytes) = 0;
    virtual std::int64_t steps() const = 0;
    /// The parameters now, which the history keeps as its newest moment.
    virtual Moment keep() = 0;
    virtual void apply(const RunSettings& settings) = 0;
    virtual LossPoint step(const std::stop_token& stop) = 0;
    virtual bool evaluation_due() const = 0;
    virtual ValidationPoint evaluate(const std::stop_token& stop) = 0;
    virtual std::string finished() const = 0;
    /// Every head's scores on the probe.
    virtual HeadPoint score_heads(const Moment& moment, const std::stop_token& stop) = 0;
    /// A few held-out sequences, always the same ones, and what the model predicts for them now.
    virtual std::vector<HeldOutExample> examples(const std::stop_token& stop) = 0;
    /// To be asked for once, before the first step.
    virtual PastPoints take_past() { return {}; }
    /// The run as it stands, from which it can be taken up.
    virtual Checkpoint checkpoint() const = 0;
    /// Writes it; throws FileError.
    virtual void save(const std::filesystem::path& path) = 0;
};

/// Where runs come from; tests replace it.
struct TrainingEngine {
    std::function<std::unique_ptr<LiveRun>(const RunSettings&)> start;  ///< throws ConfigError
    std::function<std::unique_ptr<LiveRun>(const std::filesystem::path&)>
        open;  ///< a run's folder or checkpoint; throws FileError, ConfigError
    static TrainingEngine engine();
};

/// Held-out examples that are shown.
inline constexpr std::int64_t kExamples = 6;

}  // namespace attn::app
