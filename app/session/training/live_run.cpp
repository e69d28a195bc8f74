#include "app/session/training/live_run.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "engine/train/resume.hpp"
#include "engine/train/run_folder.hpp"

namespace attn::app {
namespace {

/// The first `count` sequences of `all`.
TokenBatch first_of(const TokenBatch& all, std::int64_t count) {
    const auto first = static_cast<std::ptrdiff_t>(std::min(count, all.size()));
    return {all.length, {all.ids.begin(), all.ids.begin() + first * all.length}, {all.lengths.begin(), all.lengths.begin() + first}};
}

Batch first_of(const Batch& all, std::int64_t count) {
    const TokenBatch tokens = first_of(all.tokens, count);
    const auto targets = all.targets.begin();
    return {tokens, {targets, targets + static_cast<std::ptrdiff_t>(tokens.ids.size())}, first_of(all.source, count)};
}

std::shared_ptr<const HeldOutTexts> held_out_of(const TrainingRun& run) {
    const Dataset& dataset = run.dataset();
    return std::make_shared<const HeldOutTexts>(
        held_out_texts(dataset, run.settings().task.kind, first_of(dataset.validation(), kExamples)));
}

class EngineRun : public LiveRun {
public:
    explicit EngineRun(std::unique_ptr<TrainingRun> run, PastPoints past = {})
        : run_(std::move(run)), past_(std::move(past)), earlier_seconds_(past_.losses.empty() ? 0 : past_.losses.back().seconds),
          earlier_tokens_(past_.losses.empty() ? 0 : past_.losses.back().tokens), probe_(run_->dataset().probe_batch()),
          held_out_(held_out_of(*run_)) {}

    const RunSettings& settings() const override { return run_->settings(); }
    const Tokenizer& tokenizer() const override { return run_->dataset().tokenizer(); }
    const std::string& probe() const override { return run_->dataset().probe(); }
    const std::string& probe_source() const override { return run_->dataset().probe_source(); }
    const History& history() const override { return run_->history(); }
    void limit_history(std::size_t budget_bytes) override { run_->limit_history(budget_bytes); }
    void hold(std::span<const Moment> named) override { run_->hold(named); }
    std::int64_t steps() const override { return run_->steps(); }
    Moment keep() override { return run_->keep(); }
    void apply(const RunSettings& settings) override { run_->apply(settings); }
    LossPoint step(const std::stop_token& stop) override {
        LossPoint point = run_->step(stop);
        point.seconds += earlier_seconds_;
        point.tokens += earlier_tokens_;
        return point;
    }
    bool evaluation_due() const override { return run_->evaluation_due(); }
    ValidationPoint evaluate(const std::stop_token& stop) override { return run_->evaluate(stop); }
    std::string finished() const override { return run_->finished(); }
    HeadPoint score_heads(const Moment& moment, const std::stop_token& stop) override {
        return attn::score_heads(moment.parameters, probe_, settings().train.forward, moment.step, stop);
    }
    std::shared_ptr<const HeldOutTexts> held_out() const override { return held_out_; }
    PastPoints take_past() override { return std::exchange(past_, {}); }
    Checkpoint checkpoint() const override { return take_checkpoint(*run_); }

private:
    std::unique_ptr<TrainingRun> run_;
    PastPoints past_;
    double earlier_seconds_;  // training time before the run was resumed
    std::int64_t earlier_tokens_;
    Batch probe_;
    std::shared_ptr<const HeldOutTexts> held_out_;
};

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

std::unique_ptr<EngineRun> open_run(const std::filesystem::path& path) {
    std::error_code unknown;
    RunFolder folder;
    if (std::filesystem::is_directory(path, unknown)) folder = read_run_folder(path);
    else folder.checkpoint = read_checkpoint(path);
    return std::make_unique<EngineRun>(resume_run(folder.checkpoint, kNoLimit, folder.moments),
                                       PastPoints{std::move(folder.losses), std::move(folder.validations), std::move(folder.heads),
                                                  std::move(folder.checkpoint.name), std::move(folder.checkpoint.course)});
}

}  // namespace

TrainingEngine TrainingEngine::engine() {
    return {[](const RunSettings& settings) { return std::make_unique<EngineRun>(std::make_unique<TrainingRun>(settings, kNoLimit)); },
            [](const std::filesystem::path& path) { return open_run(path); },
            [](const Checkpoint& from) { return std::make_unique<EngineRun>(resume_run(from, kNoLimit)); }};
}

}  // namespace attn::app
