#include "engine/train/training_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/model/transformer.hpp"
#include "engine/tensor/count_text.hpp"
#include "engine/tensor/random.hpp"
#include "engine/trace/head_scores.hpp"

namespace attn {
namespace {

/// Fills in what follows from the task and the seed. A model that is trained further keeps its sizes.
RunSettings filled_in(RunSettings settings, const Dataset& dataset) {
    const std::int64_t longest = std::max(dataset.length(), dataset.source_length());
    if (settings.from.empty()) {
        settings.model.vocab_size = dataset.tokenizer().size();
        settings.model.context_length = longest;
    } else if (longest > settings.model.longest_text()) {
        throw ConfigError(fmt::format("the task's sequences have {} tokens, but the model reads at most {}: choose a shorter length",
                                      longest, settings.model.longest_text()));
    }
    settings.model.seed = settings.seed;
    settings.train.forward.dropout.seed = settings.seed;
    return settings;
}

/// The settings with the sizes of the model that is trained further.
RunSettings validated(RunSettings settings, const StartModel& from) {
    constexpr std::int64_t kMostNumbers = 250'000'000;  // with gradients and the optimizer's two moments, 4 GB
    if (!settings.from.empty()) {
        settings.model = from.parameters->config();
        if (from.parameters->count() > kMostNumbers)
            throw ConfigError(fmt::format("the model has {} parameters; at most {} can be trained further",
                                          count_text(from.parameters->count()), count_text(kMostNumbers)));
    }
    validate(settings);
    return settings;
}

Parameters<float> first_parameters(const RunSettings& settings, const StartModel& from) {
    if (settings.from.empty()) return initial_parameters<float>(settings.model);
    Parameters<float> parameters(settings.model);
    for (const ParameterInfo& info : parameters.layout().entries()) {
        const std::vector<float> numbers = from.parameters->copy(*from.parameters->layout().find(info.name));
        std::copy(numbers.begin(), numbers.end(), parameters.data() + info.offset);
    }
    return parameters;
}

bool same_layout(const Parameters<float>& a, const Parameters<float>& b) {
    const auto& x = a.layout().entries();
    const auto& y = b.layout().entries();
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const ParameterInfo& p, const ParameterInfo& q) { return p.name == q.name && p.shape == q.shape; });
}

double share(std::int64_t part, std::int64_t whole) { return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0; }

}  // namespace

struct TrainingRun::Impl {
    Impl(const RunSettings& wanted, const StartModel& from, std::size_t history_budget)
        : dataset(wanted.task, wanted.seed, from.words), settings(filled_in(wanted, dataset)),
          asked_total_steps(wanted.train.schedule.total_steps), state(first_parameters(settings, from)), history(history_budget) {
        keep();
    }

    void keep() {
        if (history.moments().empty() || history.moments().back().step < state.steps())
            history.add({state.steps(), std::make_shared<const Parameters<float>>(state.parameters())});
    }

    Dataset dataset;
    RunSettings settings;
    std::int64_t asked_total_steps;  ///< the schedule's total as last requested, before a longer run extended it
    TrainingState<float> state;
    History history;
    Batch batch;
    double seconds = 0;
    std::int64_t tokens = 0;
    std::optional<ValidationPoint> evaluated;  ///< the last evaluation
    Plateau plateau;
};

TrainingRun::TrainingRun(const RunSettings& settings, std::size_t history_budget)
    : TrainingRun(settings, settings.from.empty() ? StartModel() : open_start_model(settings.from), history_budget) {}
TrainingRun::TrainingRun(const RunSettings& settings, const StartModel& from, std::size_t history_budget)
    : impl_(std::make_unique<Impl>(validated(settings, from), from, history_budget)) {}
TrainingRun::~TrainingRun() = default;
TrainingRun::TrainingRun(TrainingRun&&) noexcept = default;
TrainingRun& TrainingRun::operator=(TrainingRun&&) noexcept = default;

void TrainingRun::restore(const Parameters<float>& parameters, std::span<const float> first_moments, std::span<const float> second_moments,
                          std::int64_t steps, std::span<const Moment> earlier, const Plateau& plateau) {
    Parameters<float> ours(impl_->settings.model);
    if (!same_layout(parameters, ours))
        throw ShapeError(fmt::format("{} parameters of a different model do not fit this one of {} with {} tokens in its vocabulary",
                                     parameters.count(), ours.count(), impl_->settings.model.vocab_size));
    if (steps < 0) throw ConfigError(fmt::format("a run cannot be resumed after {} steps", steps));
    std::copy(parameters.data(), parameters.data() + parameters.count(), ours.data());
    impl_->state.restore(ours, first_moments, second_moments, steps);
    impl_->history = History(impl_->history.budget());
    for (const Moment& moment : earlier)
        if (moment.step < steps) impl_->history.add(moment);
    impl_->seconds = 0;
    impl_->tokens = 0;
    impl_->evaluated.reset();
    impl_->plateau = plateau;
    impl_->keep();
}

const RunSettings& TrainingRun::settings() const { return impl_->settings; }
const Dataset& TrainingRun::dataset() const { return impl_->dataset; }
const TrainingState<float>& TrainingRun::state() const { return impl_->state; }
void TrainingRun::limit_history(std::size_t budget_bytes) { impl_->history.limit(budget_bytes); }
void TrainingRun::hold(std::span<const Moment> named) { impl_->history.hold(named); }
const History& TrainingRun::history() const { return impl_->history; }
const Plateau& TrainingRun::plateau() const { return impl_->plateau; }
std::int64_t TrainingRun::steps() const { return impl_->state.steps(); }

Moment TrainingRun::keep() {
    impl_->keep();
    return impl_->history.moments().back();
}

void TrainingRun::apply(const RunSettings& wanted) {
    const RunSettings& before = impl_->settings;
    RunSettings settings = before;
    settings.train = wanted.train;
    settings.train.forward.dropout.seed = settings.seed;
    settings.batch_size = wanted.batch_size;
    settings.evaluate_every = wanted.evaluate_every;
    settings.stop = wanted.stop;
    validate(settings);
    Schedule& schedule = settings.train.schedule;
    const std::int64_t asked = std::exchange(impl_->asked_total_steps, schedule.total_steps);
    if (schedule.total_steps == asked) {
        schedule.total_steps = before.train.schedule.total_steps;
        if (settings.stop.steps != before.stop.steps) schedule.total_steps = std::max(schedule.total_steps, settings.stop.steps);
    }
    schedule = continued_schedule(before.train.schedule, schedule, steps());
    impl_->settings = std::move(settings);
}

LossPoint TrainingRun::step(std::stop_token stop) {
    const auto start = std::chrono::steady_clock::now();
    const RunSettings& settings = impl_->settings;
    Batch& batch = impl_->batch;
    impl_->dataset.training_batch(steps(), settings.batch_size, batch);
    const StepResult result = impl_->state.step(batch.tokens, batch.source, batch.targets, settings.train, stop);
    if (!result.not_finite.empty()) {
        std::string tensor = first_not_finite(impl_->state.parameters(), batch, settings.train.forward, stop);
        throw NotFinite(steps() + 1, tensor.empty() ? result.not_finite : std::move(tensor));
    }
    if (impl_->history.wants(steps())) impl_->keep();
    for (const TokenBatch* read : {&batch.tokens, &batch.source})
        impl_->tokens += std::accumulate(read->lengths.begin(), read->lengths.end(), std::int64_t{0});
    impl_->seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return {steps(),        result.loss,  share(result.correct, result.counted), result.gradient_norm, result.learning_rate,
            impl_->seconds, impl_->tokens};
}

bool TrainingRun::evaluation_due() const {
    if (impl_->evaluated && impl_->evaluated->step == steps()) return false;
    return steps() % impl_->settings.evaluate_every == 0 || steps() == impl_->settings.stop.steps;
}

ValidationPoint TrainingRun::evaluate(std::stop_token stop) {
    std::vector<CrossEntropy> results;
    CrossEntropy all;
    ValidationPoint point{.step = steps()};
    for (const auto& [length, batch] : impl_->dataset.validation_by_length()) {
        const CrossEntropy& result =
            results.emplace_back(impl_->state.evaluate(batch.tokens, batch.source, batch.targets, impl_->settings.train, stop));
        all.counted += result.counted;
        all.correct += result.correct;
        if (length > 0) point.by_length.push_back({length, share(result.correct, result.counted)});
    }
    for (const CrossEntropy& result : results) point.loss += result.loss * share(result.counted, all.counted);
    point.accuracy = share(all.correct, all.counted);
    impl_->evaluated = point;
    impl_->plateau.count(point);
    return point;
}

std::string TrainingRun::finished() const {
    const StopAt& stop = impl_->settings.stop;
    if (stop.steps > 0 && steps() >= stop.steps) return count_text(steps()) + " steps done";
    if (!impl_->evaluated) return "";
    const ValidationPoint& point = *impl_->evaluated;
    if (stop.loss > 0 && point.loss <= stop.loss) return fmt::format("validation loss {:.4g}", point.loss);
    if (stop.accuracy > 0 && point.accuracy >= stop.accuracy) return fmt::format("validation accuracy {:.1f} %", 100 * point.accuracy);
    if (stop.plateau > 0 && impl_->plateau.without_better >= stop.plateau)
        return fmt::format("no better validation loss in {} evaluations", count_text(impl_->plateau.without_better));
    return "";
}

HeadPoint score_heads(std::shared_ptr<const Parameters<float>> parameters, const Batch& sequence, ForwardSettings settings,
                      std::int64_t step, std::stop_token stop) {
    settings.dropout = {};
    return {step, head_scores(trace_forward<float>(std::move(parameters), sequence.tokens, sequence.source, settings, std::move(stop)))};
}

}  // namespace attn
