#include "app/session/analyst.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "app/session/document_error.hpp"
#include "app/session/prepare.hpp"
#include "engine/model/transformer.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/reference/verify.hpp"

namespace attn::app {

namespace {

/// Up to this size one thread is done before a team has gathered, above all while the window or a training run keep the cores busy.
constexpr double kOneThreadMiB = 16;
/// More would take the cores from the window and from training.
constexpr int kMostThreads = 4;

int threads_for(double mib, int available) { return mib <= kOneThreadMiB ? 1 : std::min(available, kMostThreads); }

/// What each position is to predict: the token after it; nothing at the end of a text and in its padding.
std::vector<std::int32_t> next_tokens(const TokenBatch& tokens) {
    std::vector<std::int32_t> targets(tokens.ids.size(), kIgnoredTarget);
    for (std::int64_t b = 0; b < tokens.size(); ++b)
        for (std::int64_t t = 0; t + 1 < tokens.lengths[static_cast<std::size_t>(b)]; ++t) {
            const auto at = static_cast<std::size_t>(b * tokens.length + t);
            targets[at] = tokens.ids[at + 1];
        }
    return targets;
}

ForwardSettings without_masks() {
    ForwardSettings settings;
    settings.masks.padding = false;
    return settings;
}

}  // namespace

Computation Computation::engine() {
    return {
        [](const Config& config, const Parameters<float>* drawn) { return initial_parameters(config, drawn); },
        [](std::shared_ptr<const Parameters<float>> parameters, const TokenBatch& tokens, const TokenBatch& source,
           const ForwardSettings& settings,
           std::stop_token stop) { return trace_forward<float>(std::move(parameters), tokens, source, settings, std::move(stop)); },
        [](const Trace<float>& trace, std::stop_token stop) {
            return reference::verify(trace, reference::kFloatAtol, reference::kFloatRtol, std::move(stop));
        },
        [](const Trace<float>& trace, std::stop_token stop) {
            return trace_gradients<float>(*trace.parameters, trace.tokens, trace.source_tokens, next_tokens(trace.tokens), trace.settings,
                                          std::move(stop));
        },
    };
}

Analyst::Analyst(Computation computation, std::function<void()> wake)
    : computation_(std::move(computation)), wake_(std::move(wake)), threads_(thread_budget()), latest_(std::make_shared<const Snapshot>()),
      worker_([this](const std::stop_token& stop) { run(stop); }) {}

Analyst::~Analyst() {
    worker_.request_stop();
    const std::lock_guard lock(mutex_);
    job_.request_stop();
}

void Analyst::request(std::shared_ptr<const Document> document) {
    {
        const std::lock_guard lock(mutex_);
        wanted_.swap(document);
        next_ = Step::Trace;
        job_.request_stop();
    }
    requested_.notify_one();
}

std::shared_ptr<const Snapshot> Analyst::snapshot() const {
    const std::lock_guard lock(mutex_);
    return latest_;
}

std::shared_ptr<const Snapshot> Analyst::wait(bool verified) {
    std::unique_lock lock(mutex_);
    published_.wait(lock, [&] { return next_ == Step::Rest || (!verified && next_ == Step::Verify); });
    return latest_;
}

void Analyst::run(const std::stop_token& stop) {
    while (true) {
        std::shared_ptr<const Document> document;
        std::stop_token job;
        Step step = Step::Rest;
        {
            std::unique_lock lock(mutex_);
            requested_.wait(lock, stop, [this] { return next_ != Step::Rest; });
            // Checked under the lock, as the destructor stops the job under it: either this sees the stop or that job does.
            if (stop.stop_requested()) return;
            job_ = std::stop_source();
            job = job_.get_token();
            step = next_;
            document.swap(wanted_);
        }
        work(step, document, job);
    }
}

void Analyst::work(Step step, const std::shared_ptr<const Document>& document, const std::stop_token& job) {
    Field field = Field::None;
    std::string problem;
    try {
        switch (step) {
        case Step::Trace:
            return compute_trace(document, job);
        case Step::Baseline:
            return compute_baseline(job);
        case Step::Gradients:
            return compute_gradients(job);
        case Step::Verify:
            shown_.verification = std::make_shared<const reference::Verification>(computation_.verify(*shown_.trace, job));
            return publish(Step::Rest);
        case Step::Rest:
            return;
        }
    } catch (const DocumentError& error) {
        field = error.field();
        problem = error.what();
    } catch (const std::bad_alloc&) {
        problem = "there is not enough memory for this";
    } catch (const std::exception& error) {
        problem = error.what();
        if (step == Step::Trace && dynamic_cast<const ConfigError*>(&error) != nullptr) field = field_at_fault(document->forward);
        if (step == Step::Verify) problem = "could not check the numbers: " + problem;
    }
    // Whatever stopped a computation that nobody waits for any more is of no interest, and the newer request comes next.
    if (job.stop_requested()) return;
    shown_.problem = std::move(problem);
    shown_.problem_field = field;
    publish(step == Step::Trace ? unfinished() : step < Step::Verify ? Step::Verify : Step::Rest);
}

void Analyst::compute_trace(const std::shared_ptr<const Document>& document, const std::stop_token& job) {
    Prepared prepared = prepare(*document);
    set_thread_budget(threads_for(prepared.trace_mib, threads_));
    if (parameters_ == nullptr || parameters_->config() != prepared.config) {
        parameters_ = std::make_shared<const Parameters<float>>(computation_.parameters(prepared.config, parameters_.get()));
    }
    const auto start = std::chrono::steady_clock::now();
    auto trace =
        std::make_shared<const Trace<float>>(computation_.forward(parameters_, prepared.tokens, prepared.source, document->forward, job));
    const auto computed = std::chrono::steady_clock::now();
    std::vector<StageRange> ranges = stage_ranges(*trace);
    std::vector<HeadScore> scores = head_scores(*trace);

    // From here on nothing throws: the shown state is the old one or the new one.
    shown_.compute_ms = std::chrono::duration<double, std::milli>(computed - start).count();
    ++shown_.serial;
    shown_.document = document;
    shown_.trace = std::move(trace);
    shown_.ranges = std::move(ranges);
    shown_.head_scores = std::move(scores);
    shown_.tokens = std::move(prepared.chips);
    shown_.source_tokens = std::move(prepared.source_chips);
    shown_.vocabulary = std::move(prepared.vocabulary);
    shown_.unmasked = reusable_baseline();
    shown_.gradients.reset();
    shown_.verification.reset();
    shown_.problem.clear();
    shown_.problem_field = Field::None;
    trace_mib_ = prepared.trace_mib;
    publish(unfinished());
}

// Masks, dropout and temperature leave the baseline as it was.
std::shared_ptr<const Trace<float>> Analyst::reusable_baseline() const {
    const Trace<float>& trace = *shown_.trace;
    if (trace.settings == without_masks()) return shown_.trace;
    const auto& last = shown_.unmasked;
    const bool same = last != nullptr && last->parameters == trace.parameters && last->tokens == trace.tokens &&
                      last->source_tokens == trace.source_tokens;
    return same ? last : nullptr;
}

void Analyst::compute_baseline(const std::stop_token& job) {
    const Trace<float>& trace = *shown_.trace;
    shown_.unmasked = std::make_shared<const Trace<float>>(
        computation_.forward(trace.parameters, trace.tokens, trace.source_tokens, without_masks(), job));
    publish(unfinished());
}

void Analyst::compute_gradients(const std::stop_token& job) {
    shown_.gradients = std::make_shared<const GradientTrace<float>>(computation_.gradients(*shown_.trace, job));
    publish(unfinished());
}

bool Analyst::wants_gradients() const {
    return shown_.gradients == nullptr && shown_.trace->config.lm_head && trace_mib_ <= kBaselineLimitMiB && computation_.gradients;
}

Analyst::Step Analyst::unfinished() const {
    if (shown_.trace == nullptr) return Step::Rest;
    if (shown_.unmasked == nullptr && trace_mib_ <= kBaselineLimitMiB) return Step::Baseline;
    if (wants_gradients()) return Step::Gradients;
    return shown_.verification == nullptr ? Step::Verify : Step::Rest;
}

void Analyst::publish(Step next) {
    // What this replaces is destroyed at the end, after the lock is given back and the window is told.
    auto snapshot = std::make_shared<const Snapshot>(shown_);
    {
        const std::lock_guard lock(mutex_);
        latest_.swap(snapshot);
        if (wanted_ == nullptr) next_ = next;
    }
    published_.notify_all();
    wake_();
}

}  // namespace attn::app
