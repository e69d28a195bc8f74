#include "app/session/training/live_run.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "engine/model/transformer.hpp"
#include "engine/ops/cross_entropy.hpp"
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

const RecordedStage<float>& logits_of(const Trace<float>& trace) { return *trace.find(trace.plan->logits()); }

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
    std::vector<HeldOutExample> examples(const std::stop_token& stop) override;
    PastPoints take_past() override { return std::exchange(past_, {}); }
    Checkpoint checkpoint() const override { return take_checkpoint(*run_); }

private:
    /// The tokens of an example, without predictions.
    HeldOutExample unanswered(std::int64_t sequence, bool fills_in) const;

    std::unique_ptr<TrainingRun> run_;
    PastPoints past_;
    double earlier_seconds_;  // training time before the run was resumed
    std::int64_t earlier_tokens_;
    Batch probe_, examples_;
};

std::vector<HeldOutExample> EngineRun::examples(const std::stop_token& stop) {
    ForwardSettings forward = settings().train.forward;
    forward.dropout = {};
    const Trace<float> trace = trace_forward<float>(run_->keep().parameters, examples_.tokens, examples_.source, forward, stop);
    const std::span<const float> logits = logits_of(trace).value.values();
    const std::vector<std::string>& symbols = tokenizer().vocabulary();
    const std::size_t known = symbols.size() - static_cast<std::size_t>(tokenizer().places());  // the examples have no new words
    const bool fills_in = task_info(settings().task.kind).model == Architecture::Encoder;
    std::vector<HeldOutExample> all;
    for (std::int64_t b = 0; b < examples_.tokens.size(); ++b) {
        HeldOutExample& example = all.emplace_back(unanswered(b, fills_in));
        const auto first = static_cast<std::size_t>(b * examples_.tokens.length);
        const std::size_t end = first + static_cast<std::size_t>(examples_.tokens.lengths[static_cast<std::size_t>(b)]);
        for (std::size_t at = first; at < end; ++at) {
            const std::int32_t target = examples_.targets[at];
            if (target == kIgnoredTarget) continue;
            const std::int32_t predicted = likeliest(logits.subspan(at * symbols.size(), known));
            // A masked token is predicted at its own position, any other at the position before it.
            const std::size_t place = at - first + (fills_in ? 0 : 1);
            example.tokens[place] = symbols[static_cast<std::size_t>(target)];
            example.predicted[place] = symbols[static_cast<std::size_t>(predicted)];
            example.right[place] = static_cast<std::int8_t>(predicted == target);
        }
    }
    return all;
}

HeldOutExample EngineRun::unanswered(std::int64_t sequence, bool fills_in) const {
    const auto words = [&](const TokenBatch& batch) {
        std::vector<std::string> texts;
        if (batch.lengths.empty()) return texts;
        const auto first = static_cast<std::size_t>(sequence * batch.length);
        for (std::size_t i = 0; i < static_cast<std::size_t>(batch.lengths[static_cast<std::size_t>(sequence)]); ++i)
            texts.push_back(tokenizer().vocabulary()[static_cast<std::size_t>(batch.ids[first + i])]);
        return texts;
    };
    HeldOutExample example{words(examples_.tokens), {}, {}, words(examples_.source)};
    const std::size_t last = static_cast<std::size_t>(sequence * examples_.tokens.length) + example.tokens.size() - 1;
    // The last symbol of a sequence is only a target, never an input.
    if (!fills_in && examples_.targets[last] != kIgnoredTarget) example.tokens.emplace_back();
    example.predicted.resize(example.tokens.size());
    example.right.assign(example.tokens.size(), -1);
    return example;
}

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

std::unique_ptr<EngineRun> open_run(const std::filesystem::path& path) {
    std::error_code unknown;
    RunFolder folder;
    if (std::filesystem::is_directory(path, unknown)) folder = read_run_folder(path);
    else folder.checkpoint = read_checkpoint(path);
    return std::make_unique<EngineRun>(
        resume_run(folder.checkpoint, kNoLimit, folder.moments),
        PastPoints{std::move(folder.losses), std::move(folder.validations), std::move(folder.heads), std::move(folder.checkpoint.name)});
}

}  // namespace

TrainingEngine TrainingEngine::engine() {
    return {[](const RunSettings& settings) { return std::make_unique<EngineRun>(std::make_unique<TrainingRun>(settings, kNoLimit)); },
            [](const std::filesystem::path& path) { return open_run(path); },
            [](const Checkpoint& from) { return std::make_unique<EngineRun>(resume_run(from, kNoLimit)); }};
}

}  // namespace attn::app
