#include "app/session/live_run.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "engine/io/folder_lock.hpp"
#include "engine/model/transformer.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/train/resume.hpp"
#include "engine/train/run_folder.hpp"

namespace attn::app {
namespace {

/// The first sequences of `all`.
Batch first_of(const Batch& all, std::int64_t count) {
    Batch batch;
    count = std::min(count, all.tokens.size());
    const auto numbers = static_cast<std::ptrdiff_t>(count * all.tokens.length);
    batch.tokens.length = all.tokens.length;
    batch.tokens.lengths.assign(all.tokens.lengths.begin(), all.tokens.lengths.begin() + count);
    batch.tokens.ids.assign(all.tokens.ids.begin(), all.tokens.ids.begin() + numbers);
    batch.targets.assign(all.targets.begin(), all.targets.begin() + numbers);
    return batch;
}

std::int32_t likeliest(std::span<const float> logits) {
    return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

class EngineRun : public LiveRun {
public:
    explicit EngineRun(std::unique_ptr<TrainingRun> run, PastPoints past = {})
        : run_(std::move(run)), past_(std::move(past)), earlier_seconds_(past_.losses.empty() ? 0 : past_.losses.back().seconds),
          earlier_tokens_(past_.losses.empty() ? 0 : past_.losses.back().tokens), probe_(run_->dataset().probe_batch()),
          examples_(first_of(run_->dataset().validation(), kExamples)) {}

    const RunSettings& settings() const override { return run_->settings(); }
    const Tokenizer& tokenizer() const override { return run_->dataset().tokenizer(); }
    const std::string& probe() const override { return run_->dataset().probe(); }
    const History& history() const override { return run_->history(); }
    void limit_history(std::size_t budget_bytes) override { run_->limit_history(budget_bytes); }
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
    std::vector<HeldOutExample> examples(const std::stop_token& stop) override;
    PastPoints take_past() override { return std::exchange(past_, {}); }
    Checkpoint checkpoint() const override { return take_checkpoint(*run_); }
    void save(const std::filesystem::path& path) override {
        // Under this name another process may be saving a run of its own.
        std::optional<FolderLock> lock;
        if (path.filename() == kCheckpointName) lock.emplace(path.has_parent_path() ? path.parent_path() : ".");
        write_checkpoint(path, checkpoint());
    }

private:
    std::unique_ptr<TrainingRun> run_;
    PastPoints past_;
    double earlier_seconds_;  // of training before the run was taken up
    std::int64_t earlier_tokens_;
    TokenBatch probe_;
    Batch examples_;
};

std::vector<HeldOutExample> EngineRun::examples(const std::stop_token& stop) {
    ForwardSettings forward = settings().train.forward;
    forward.dropout = {};
    const Trace<float> trace = trace_forward<float>(run_->keep().parameters, examples_.tokens, {}, forward, stop);
    const std::span<const float> logits = trace.find({Stage::Logits})->value.values();
    const std::vector<std::string>& symbols = tokenizer().vocabulary();
    const auto symbol = [&](std::int32_t id) { return symbols[static_cast<std::size_t>(id)]; };
    std::vector<HeldOutExample> all;
    for (std::int64_t b = 0; b < examples_.tokens.size(); ++b) {
        HeldOutExample& example = all.emplace_back();
        const auto first = static_cast<std::size_t>(b * examples_.tokens.length);
        const std::size_t end = first + static_cast<std::size_t>(examples_.tokens.lengths[static_cast<std::size_t>(b)]);
        for (std::size_t at = first; at < end; ++at) {
            example.tokens.push_back(symbol(examples_.tokens.ids[at]));
            const std::int32_t target = examples_.targets[at];
            const std::int32_t predicted = likeliest(logits.subspan(at * symbols.size(), symbols.size()));
            const bool asked = target != kIgnoredTarget;
            example.predicted.push_back(asked ? symbol(predicted) : "");
            example.right.push_back(static_cast<std::int8_t>(asked ? predicted == target : -1));
        }
        // The last symbol of a sequence is only ever predicted.
        if (const std::int32_t last = examples_.targets[end - 1]; last != kIgnoredTarget) {
            example.tokens.push_back(symbol(last));
            example.predicted.emplace_back();
            example.right.push_back(-1);
        }
    }
    return all;
}

std::unique_ptr<EngineRun> open_run(const std::filesystem::path& path) {
    std::error_code unknown;
    if (!std::filesystem::is_directory(path, unknown)) return std::make_unique<EngineRun>(resume_run(read_checkpoint(path)));
    RunFolder folder = read_run_folder(path);
    return std::make_unique<EngineRun>(resume_run(folder.checkpoint, History::kDefaultBudget, folder.moments),
                                       PastPoints{std::move(folder.losses), std::move(folder.validations), std::move(folder.heads)});
}

}  // namespace

TrainingEngine TrainingEngine::engine() {
    return {[](const RunSettings& settings) { return std::make_unique<EngineRun>(std::make_unique<TrainingRun>(settings)); },
            [](const std::filesystem::path& path) { return open_run(path); }};
}

}  // namespace attn::app
