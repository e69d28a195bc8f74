#include "engine/train/train_step.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/kernels/kernels.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/random.hpp"

namespace attn {
namespace {

template <class Scalar>
std::string first_not_finite(const Parameters<Scalar>& gradients) {
    for (const ParameterInfo& info : gradients.layout().entries())
        if (!kernels<Scalar>().all_finite(gradients.data() + info.offset, info.shape.count())) return info.name;
    return "the gradient norm";
}

/// Number of shares of a batch. Every share needs gradients of its own, for which large models have no memory; they have enough work in
/// each product to keep all threads busy.
std::int64_t shares_of(std::int64_t parameters) {
    constexpr std::int64_t kShares = 4, kSmall = 3'000'000;
    return parameters <= kSmall ? kShares : 1;
}

/// Sequences that pass through the model together: few, so that their activations stay in the cache until the backward pass, but enough
/// rows for efficient products.
std::int64_t sequences_at_once(std::int64_t shares, std::int64_t length, std::int64_t batch) {
    constexpr std::int64_t kRows = 128;
    return shares == 1 ? batch : std::max<std::int64_t>(1, kRows / std::max<std::int64_t>(1, length));
}

/// Sequences [first, last) of a batch.
void take_sequences(const TokenBatch& from, std::int64_t first, std::int64_t last, TokenBatch& to) {
    to.length = from.length;
    to.ids.assign(from.ids.begin() + first * from.length, from.ids.begin() + last * from.length);
    to.lengths.assign(from.lengths.begin() + first, from.lengths.begin() + last);
}

}  // namespace

template <class Scalar>
TrainingState<Scalar>::TrainingState(Parameters<Scalar> parameters)
    : parameters_(std::move(parameters)), packed_(parameters_), shares_(static_cast<std::size_t>(shares_of(parameters_.count()))),
      optimizer_(parameters_.layout()) {
    for (Share& share : shares_) share.gradients = std::make_unique<Gradients<Scalar>>(parameters_.config());
}

template <class Scalar>
void TrainingState<Scalar>::split_batch(std::int64_t sequences, bool learns) {
    const std::int64_t count = static_cast<std::int64_t>(shares_.size());
    for (std::int64_t i = 0; i < count; ++i) {
        Share& share = shares_[static_cast<std::size_t>(i)];
        share.first = share.next = i * sequences / count;
        share.last = (i + 1) * sequences / count;
        share.sum = {};
        share.failure = nullptr;
        share.waits = learns || share.left() > 0;  // a share without sequences must still clear its gradients
    }
}

template <class Scalar>
void TrainingState<Scalar>::make_workers(std::int64_t workers) {
    while (static_cast<std::int64_t>(workers_.size()) < workers) {
        Worker& worker = workers_.emplace_back();
        worker.pass = std::make_unique<ModelPass<Scalar>>(parameters_);
        worker.pass->use(packed_);
    }
}

/// The share whose next run the calling thread should make; null if none is left. Prefers the share that is furthest behind, because its
/// runs would otherwise be left for the end, when no other thread can help. May be `last`, the share the thread has just worked on.
template <class Scalar>
typename TrainingState<Scalar>::Share* TrainingState<Scalar>::take_share(Share* last) {
    const std::lock_guard lock(taking_);
    if (last != nullptr) last->waits = last->left() > 0 && last->failure == nullptr;
    Share* best = last != nullptr && last->waits ? last : nullptr;
    for (Share& share : shares_)
        if (share.waits && (best == nullptr || share.left() > best->left())) best = &share;
    if (best != nullptr) best->waits = false;
    return best;
}

template <class Scalar>
void TrainingState<Scalar>::run_next(Worker& worker, Share& share, const Work& work) const {
    const std::int64_t b = share.next, end = std::min(b + work.at_once, share.last), length = work.tokens.length;
    Tap<Scalar> tap(false, work.stop);
    take_sequences(work.tokens, b, end, worker.tokens);
    if (parameters_.config().architecture == Architecture::EncoderDecoder) take_sequences(work.source, b, end, worker.source);
    worker.pass->forward(worker.tokens, worker.source, forward_, tap, b);
    const CrossEntropy loss = worker.pass->loss(
        work.targets.subspan(static_cast<std::size_t>(b * length), static_cast<std::size_t>((end - b) * length)), work.counted);
    share.sum.loss += loss.loss;
    share.sum.counted += loss.counted;
    share.sum.correct += loss.correct;
    if (work.learns) worker.pass->backward(tap, *share.gradients, b == share.first);
    share.next = end;
}

template <class Scalar>
CrossEntropy TrainingState<Scalar>::run(const TokenBatch& tokens, const TokenBatch& source, std::span<const std::int32_t> targets,
                                        bool learns, std::stop_token stop) {
    const Config& config = parameters_.config();
    require_settings(forward_);
    if (!forward_.edits.empty()) throw ConfigError("edits belong to one text: a model cannot be trained with them");
    require_batch(config, tokens, source);
    if (!config.lm_head) throw ConfigError("a model without an output head predicts nothing to compare with targets");
    if (targets.size() != tokens.ids.size())
        throw ShapeError(std::to_string(targets.size()) + " targets for " + std::to_string(tokens.ids.size()) + " tokens");
    CrossEntropy sum;
    sum.counted = count_targets(targets, config.vocab_size);
    if (sum.counted == 0) return sum;
    packed_.pack();
    const std::int64_t shares = static_cast<std::int64_t>(shares_.size());
    const Work work{tokens, source, targets, sum.counted, sequences_at_once(shares, tokens.length, tokens.size()), learns, stop};
    split_batch(tokens.size(), learns);
    const std::int64_t workers = std::min<std::int64_t>(shares, thread_budget());
    make_workers(workers);
    // Every worker starts with a fixed share, so that it touches the same memory at every step.
    for (std::int64_t i = 0; i < workers; ++i) shares_[static_cast<std::size_t>(i)].waits = false;
    constexpr std::int64_t kPerOperation = 32;  // multiply-adds per operation, as parallel_for() counts
    const std::int64_t cost = 3 * parameters_.count() * (tokens.length * tokens.size() / workers + 1) / kPerOperation;
    parallel_for(workers, cost, [&](std::int64_t i) {
        Share* share = &shares_[static_cast<std::size_t>(i)];
        if (!learns && share->left() == 0) share = take_share(share);
        for (; share != nullptr; share = take_share(share)) {
            try {
                run_next(workers_[static_cast<std::size_t>(i)], *share, work);
            } catch (...) {
                share->failure = std::current_exception();  // must not leave a parallel region
            }
        }
    });
    for (const Share& share : shares_)
        if (share.failure != nullptr) std::rethrow_exception(share.failure);
    for (const Share& share : shares_) {
        sum.loss += share.sum.loss;
        sum.correct += share.sum.correct;
    }
    return sum;
}

/// Adds the shares' gradients, in order, to the first one's.
template <class Scalar>
void TrainingState<Scalar>::add_gradients() {
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    Parameters<Scalar>& sum = shares_.front().gradients->values;
    parallel_ranges(sum.count(), 64, 1, [&](std::int64_t first, std::int64_t last) {
        for (std::size_t i = 1; i < shares_.size(); ++i)
            kernel.add(sum.data() + first, shares_[i].gradients->values.data() + first, last - first, sum.data() + first);
    });
}

template <class Scalar>
StepResult TrainingState<Scalar>::step(const TokenBatch& tokens, const TokenBatch& source, std::span<const std::int32_t> targets,
                                       const TrainSettings& settings, std::stop_token stop) {
    require_adamw(settings.adamw);
    clip_factor(0, settings.clip_norm);  // throws for an invalid limit
    StepResult result;
    result.learning_rate = learning_rate(settings.schedule, steps());
    forward_ = settings.forward;
    forward_.dropout.seed = CounterRandom(settings.forward.dropout.seed, 0).bits(static_cast<std::uint64_t>(steps()));
    const CrossEntropy loss = run(tokens, source, targets, true, std::move(stop));
    result.loss = loss.loss;
    result.counted = loss.counted;
    result.correct = loss.correct;
    if (loss.counted == 0) return result;
    if (!std::isfinite(loss.loss)) {
        result.not_finite = "the loss";
        return result;
    }
    add_gradients();
    result.gradient_norm = gradient_norm(gradients());
    if (!std::isfinite(result.gradient_norm)) {
        result.not_finite = first_not_finite(gradients());
        return result;
    }
    optimizer_.step(settings.adamw, result.learning_rate, clip_factor(result.gradient_norm, settings.clip_norm), gradients(), parameters_);
    return result;
}

template <class Scalar>
CrossEntropy TrainingState<Scalar>::evaluate(const TokenBatch& tokens, const TokenBatch& source, std::span<const std::int32_t> targets,
                                             const TrainSettings& settings, std::stop_token stop) {
    forward_ = settings.forward;
    if (!drops_outside_training(settings.forward.mistake)) forward_.dropout = {};
    return run(tokens, source, targets, false, std::move(stop));
}

template <class Scalar>
void TrainingState<Scalar>::restore(const Parameters<Scalar>& parameters, std::span<const Scalar> first_moments,
                                    std::span<const Scalar> second_moments, std::int64_t steps) {
    const std::size_t count = static_cast<std::size_t>(parameters_.count());
    if (!(parameters.config() == parameters_.config()) || first_moments.size() != count || second_moments.size() != count)
        throw ShapeError("a run of " + std::to_string(parameters.count()) + " parameters and " + std::to_string(first_moments.size()) +
                         " and " + std::to_string(second_moments.size()) + " moments does not fit this model of " + std::to_string(count));
    if (steps < 0) throw ConfigError("a run cannot have made " + std::to_string(steps) + " steps");
    std::copy(parameters.data(), parameters.data() + count, parameters_.data());
    std::copy(first_moments.begin(), first_moments.end(), optimizer_.first_moments().begin());
    std::copy(second_moments.begin(), second_moments.end(), optimizer_.second_moments().begin());
    optimizer_.set_steps(steps);
}

template class TrainingState<float>;
template class TrainingState<double>;

}  // namespace attn
