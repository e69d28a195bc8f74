#include "app/session/analyst.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "app/session/document_error.hpp"
#include "app/session/examine.hpp"
#include "app/session/prepare.hpp"
#include "app/session/scarce_memory.hpp"
#include "engine/model/knock_out.hpp"
#include "engine/model/transformer.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/reference/verify.hpp"

namespace attn::app {

namespace {

/// Up to this size one thread is done before a team has gathered, above all while the window or a training run keep the cores busy.
constexpr double kOneThreadMiB = 16;
/// More would take the cores from the window and from training.
constexpr int kMostThreads = 4;

int threads_for(double mib, int available) { return mib <= kOneThreadMiB ? 1 : std::min(available, kMostThreads); }

/// What follows the first sequence.
std::vector<std::int32_t> write_on(const Trace<float>& trace, const SamplingSettings& sampling, std::stop_token stop) {
    const std::span<const std::int32_t> prompt(trace.tokens.ids.data(), static_cast<std::size_t>(trace.tokens.lengths.at(0)));
    return generate(*trace.parameters, prompt, trace.settings, sampling, {}, std::move(stop));
}

/// True when only the parameters are newer ones of the same run.
bool follows_on(const Document& before, const Document& after) {
    return after.trained.has_value() && !after.trained->step.has_value() && before.trained == after.trained &&
           before.texts == after.texts && before.forward == after.forward && before.sampling == after.sampling;
}

ForwardSettings without_masks() {
    ForwardSettings settings;
    settings.masks.padding = false;
    return settings;
}

/// The same without what was changed on purpose.
ForwardSettings without_changes(ForwardSettings settings) {
    settings.edits.clear();
    return settings;
}

bool changes_anything(const ForwardSettings& settings) {
    return std::any_of(settings.edits.begin(), settings.edits.end(), [](const Edit& edit) { return edit.on; });
}

/// The last stage of all is looked at first: where anything differs it nearly always does.
bool same_numbers(const Trace<float>& a, const Trace<float>& b) {
    return std::equal(a.stages.rbegin(), a.stages.rend(), b.stages.rbegin(), b.stages.rend(), [](const auto& one, const auto& other) {
        const auto left = one.value.values(), right = other.value.values();
        return std::equal(left.begin(), left.end(), right.begin(), right.end());
    });
}

bool same_model_and_text(const Trace<float>& a, const Trace<float>& b) {
    return a.parameters == b.parameters && a.tokens == b.tokens && a.source_tokens == b.source_tokens;
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
        write_on,
        read_trace,
        [](const Trace<float>& trace, const std::stop_token& stop) { return examine_trace(trace, stop); },
    };
}

Computation Computation::only_trace(bool gradients) {
    Computation computation = engine();
    computation.verify = {};
    computation.sample = {};
    computation.readings = {};
    computation.examine = {};
    computation.compares = false;
    computation.limit_mib = kTraceLimitMiB;
    if (!gradients) computation.gradients = {};
    return computation;
}

Analyst::Analyst(Computation computation, std::function<void()> wake)
    : computation_(std::move(computation)), wake_(std::move(wake)), threads_(thread_budget()), latest_(std::make_shared<const Snapshot>()),
      worker_([this](const std::stop_token& stop) { run(stop); }) {}

Analyst::~Analyst() {
    worker_.request_stop();
    const std::lock_guard lock(mutex_);
    job_.request_stop();
}

void Analyst::request(std::shared_ptr<const Document> document, std::optional<LearnedParameters> learned, Depth depth) {
    Request request{std::move(document), std::move(learned), depth};
    {
        const std::lock_guard lock(mutex_);
        std::swap(wanted_, request);
        next_ = Step::Trace;
        job_.request_stop();
    }
    requested_.notify_one();
}

std::shared_ptr<const Snapshot> Analyst::snapshot() const {
    const std::lock_guard lock(mutex_);
    return latest_;
}

bool Analyst::tracing() const {
    const std::lock_guard lock(mutex_);
    return next_ == Step::Trace;
}

bool Analyst::rests() const {
    const std::lock_guard lock(mutex_);
    return next_ == Step::Rest;
}

std::shared_ptr<const Snapshot> Analyst::wait(bool verified) {
    std::unique_lock lock(mutex_);
    published_.wait(lock, [&] { return next_ == Step::Rest || (!verified && next_ >= Step::Verify); });
    return latest_;
}

void Analyst::run(const std::stop_token& stop) {
    while (true) {
        Request request;
        std::stop_source fresh = when_memory_allows([] { return std::stop_source(); });
        std::stop_token job;
        Step step = Step::Rest;
        {
            std::unique_lock lock(mutex_);
            requested_.wait(lock, stop, [this] { return next_ != Step::Rest; });
            // Checked under the lock, as the destructor stops the job under it: either this sees the stop or that job does.
            if (stop.stop_requested()) return;
            job_ = std::move(fresh);
            job = job_.get_token();
            step = next_;
            std::swap(request, wanted_);
        }
        work(step, request, job);
    }
}

void Analyst::work(Step step, const Request& request, const std::stop_token& job) {
    Field field = Field::None;
    std::string problem;
    try {
        switch (step) {
        case Step::Trace:
            return compute_trace(request, job);
        case Step::Plain:
            return compute_plain(job);
        case Step::Baseline:
            return compute_baseline(job);
        case Step::Readings:
            return compute_readings(job);
        case Step::Correct:
            return compute_correct(job);
        case Step::Gradients:
            return compute_gradients(job);
        case Step::Sample:
            return compute_sample(job);
        case Step::Compared:
            return compute_compared_readings(job);
        case Step::Verify:
            shown_.verification = std::make_shared<const reference::Verification>(computation_.verify(*shown_.trace, job));
            return publish(unfinished());
        case Step::Examine:
            shown_.doctor = std::make_shared<const DoctorReport>(computation_.examine(*shown_.trace, job));
            return publish(Step::Rest);
        case Step::Rest:
            return;
        }
    } catch (const DocumentError& error) {
        field = error.field();
        problem = message_of(error);
    } catch (const std::exception& error) {
        problem = message_of(error);
        if (step == Step::Trace && dynamic_cast<const ConfigError*>(&error) != nullptr) field = field_at_fault(request.document->forward);
        if (step == Step::Examine) problem = when_memory_allows([&] { return "could not examine the numbers: " + problem; });
        if (step == Step::Verify) problem = when_memory_allows([&] { return "could not check the numbers: " + problem; });
    }
    // Whatever stopped a computation that nobody waits for any more is of no interest, and the newer request comes next.
    if (job.stop_requested()) return;
    shown_.problem = std::move(problem);
    shown_.problem_document = step == Step::Trace ? request.document : shown_.document;
    shown_.problem_field = field;
    if (step == Step::Trace) return publish(unfinished());
    gave_up_ = true;
    publish(step < Step::Verify && depth_ == Depth::Everything && computation_.verify ? Step::Verify : Step::Rest);
}

std::shared_ptr<const Parameters<float>> Analyst::parameters_of(const Request& request, const Config& config) {
    if (request.learned.has_value()) {
        if (request.learned->moment.parameters->config() != config)
            throw DocumentError("these settings differ from the trained model's", Field::None);
        return request.learned->moment.parameters;
    }
    if (drawn_ == nullptr || drawn_->config() != config)
        drawn_ = std::make_shared<const Parameters<float>>(computation_.parameters(config, drawn_.get()));
    return drawn_;
}

void Analyst::compute_trace(const Request& request, const std::stop_token& job) {
    const std::shared_ptr<const Document>& document = request.document;
    Prepared prepared = prepare(*document);
    set_thread_budget(threads_for(prepared.trace_mib, threads_));
    std::shared_ptr<const Parameters<float>> parameters = parameters_of(request, prepared.config);
    const auto start = std::chrono::steady_clock::now();
    auto trace = std::make_shared<const Trace<float>>(
        computation_.forward(std::move(parameters), prepared.tokens, prepared.source, document->forward, job));
    const auto computed = std::chrono::steady_clock::now();
    std::vector<StageRange> ranges = stage_ranges(*trace);
    std::vector<HeadScore> scores = head_scores(*trace);
    std::shared_ptr<const Trace<float>> plain = reusable_plain(*trace), unmasked_before = shown_.unmasked;

    // From here on nothing throws: the shown state is the old one or the new one.
    shown_.compute_ms = std::chrono::duration<double, std::milli>(computed - start).count();
    ++shown_.serial;
    // While a run is followed, the sample of a few steps ago stays until there is a newer one.
    // The same goes for what was read off the trace.
    if (shown_.document == nullptr || !follows_on(*shown_.document, *document)) {
        shown_.sample.reset();
        shown_.readings.reset();
    }
    sampled_ = gave_up_ = false;
    shown_.run = request.learned.has_value() ? request.learned->run : 0;
    shown_.trained_step.reset();
    if (request.learned.has_value()) shown_.trained_step = request.learned->moment.step;
    depth_ = request.depth;
    shown_.document = document;
    shown_.trace = std::move(trace);
    shown_.ranges = std::move(ranges);
    shown_.head_scores = std::move(scores);
    shown_.tokens = std::move(prepared.chips);
    shown_.source_tokens = std::move(prepared.source_chips);
    shown_.vocabulary = std::move(prepared.vocabulary);
    shown_.unmasked = reusable_baseline();
    shown_.plain = std::move(plain);
    if (shown_.unmasked != unmasked_before) shown_.unmasked_readings.reset();
    shown_.plain_readings.reset();
    shown_.correct_readings.reset();
    shown_.correct.reset();
    shown_.mistake_is_idle = false;
    shown_.gradients.reset();
    shown_.verification.reset();
    shown_.doctor.reset();
    shown_.problem.clear();
    shown_.problem_document.reset();
    shown_.problem_field = Field::None;
    trace_mib_ = prepared.trace_mib;
    publish(unfinished());
}

// Masks, dropout and temperature leave the baseline as it was.
std::shared_ptr<const Trace<float>> Analyst::reusable_baseline() const {
    const Trace<float>& trace = *shown_.trace;
    if (trace.settings == without_masks()) return shown_.trace;
    const auto& last = shown_.unmasked;
    return last != nullptr && same_model_and_text(*last, trace) ? last : nullptr;
}

// The first edit finds what was shown before it, every further one what the first had found.
std::shared_ptr<const Trace<float>> Analyst::reusable_plain(const Trace<float>& trace) const {
    if (!changes_anything(trace.settings)) return nullptr;
    const ForwardSettings settings = without_changes(trace.settings);
    for (const std::shared_ptr<const Trace<float>>& last : {shown_.trace, shown_.plain})
        if (last != nullptr && last->settings == settings && same_model_and_text(*last, trace)) return last;
    return nullptr;
}

void Analyst::compute_plain(const std::stop_token& job) {
    const Trace<float>& trace = *shown_.trace;
    shown_.plain = std::make_shared<const Trace<float>>(
        computation_.forward(trace.parameters, trace.tokens, trace.source_tokens, without_changes(trace.settings), job));
    publish(unfinished());
}

void Analyst::compute_baseline(const std::stop_token& job) {
    const Trace<float>& trace = *shown_.trace;
    shown_.unmasked = std::make_shared<const Trace<float>>(
        computation_.forward(trace.parameters, trace.tokens, trace.source_tokens, without_masks(), job));
    publish(unfinished());
}

void Analyst::compute_readings(const std::stop_token& job) {
    shown_.readings = std::make_shared<const Readings>(computation_.readings(*shown_.trace, job));
    shown_.read_serial = shown_.serial;
    publish(unfinished());
}

void Analyst::compute_compared_readings(const std::stop_token& job) {
    const auto read = [&](const std::shared_ptr<const Trace<float>>& trace, std::shared_ptr<const Readings>& readings) {
        if (trace == nullptr || readings != nullptr) return;
        readings = trace == shown_.trace ? shown_.readings : std::make_shared<const Readings>(computation_.readings(*trace, job));
    };
    read(shown_.plain, shown_.plain_readings);
    read(shown_.unmasked, shown_.unmasked_readings);
    read(shown_.correct, shown_.correct_readings);
    publish(unfinished());
}

bool Analyst::wants_compared_readings() const {
    const auto lacks = [](const auto& trace, const auto& readings) { return trace != nullptr && readings == nullptr; };
    return computation_.readings && (lacks(shown_.plain, shown_.plain_readings) || lacks(shown_.unmasked, shown_.unmasked_readings) ||
                                     lacks(shown_.correct, shown_.correct_readings));
}

void Analyst::compute_correct(const std::stop_token& job) {
    const Trace<float>& trace = *shown_.trace;
    ForwardSettings settings = trace.settings;
    settings.mistake = Mistake::None;
    shown_.correct =
        std::make_shared<const Trace<float>>(computation_.forward(trace.parameters, trace.tokens, trace.source_tokens, settings, job));
    shown_.mistake_is_idle = same_numbers(trace, *shown_.correct);
    publish(unfinished());
}

void Analyst::compute_gradients(const std::stop_token& job) {
    shown_.gradients = std::make_shared<const GradientTrace<float>>(computation_.gradients(*shown_.trace, job));
    publish(unfinished());
}

void Analyst::compute_sample(const std::stop_token& job) {
    const Document& document = *shown_.document;
    Sample sample;
    sample.trained_step = shown_.trained_step;
    const std::vector<std::int32_t> ids = computation_.sample(*shown_.trace, document.sampling, job);
    for (const std::int32_t id : ids) {
        const std::string& symbol = shown_.vocabulary.at(static_cast<std::size_t>(id));
        if (document.tokenizer == TokenizerKind::Word) sample.text += ' ';
        sample.text += symbol;
        sample.tokens.push_back({symbol, id, false, false});
    }
    shown_.sample = std::make_shared<const Sample>(std::move(sample));
    sampled_ = true;
    publish(unfinished());
}

bool Analyst::wants_sample() const {
    const Trace<float>& trace = *shown_.trace;
    return !sampled_ && computation_.sample && trace.config.architecture == Architecture::DecoderOnly && trace.config.lm_head &&
           trace.settings.masks.causal && trace.tokens.lengths.at(0) > 0;
}

bool Analyst::wants_gradients() const {
    return shown_.gradients == nullptr && shown_.trace->config.lm_head && bearable() && computation_.gradients;
}

Analyst::Step Analyst::unfinished() const {
    if (shown_.trace == nullptr || depth_ == Depth::Trace) return Step::Rest;
    if (gave_up_) return Step::Rest;
    if (depth_ == Depth::Sample) return wants_sample() ? Step::Sample : Step::Rest;
    const bool compares = computation_.compares && bearable();
    if (compares && shown_.plain == nullptr && changes_anything(shown_.trace->settings)) return Step::Plain;
    if (compares && shown_.unmasked == nullptr) return Step::Baseline;
    if (shown_.read_serial != shown_.serial && computation_.readings) return Step::Readings;
    if (compares && shown_.correct == nullptr && shown_.trace->settings.mistake != Mistake::None) return Step::Correct;
    if (wants_gradients()) return Step::Gradients;
    if (wants_sample()) return Step::Sample;
    if (wants_compared_readings()) return Step::Compared;
    if (shown_.verification == nullptr && computation_.verify) return Step::Verify;
    return shown_.doctor == nullptr && computation_.examine && bearable() ? Step::Examine : Step::Rest;
}

void Analyst::publish(Step next) {
    // What this replaces is destroyed at the end, after the lock is given back and the window is told.
    auto snapshot = when_memory_allows([&] { return std::make_shared<const Snapshot>(shown_); });
    {
        const std::lock_guard lock(mutex_);
        latest_.swap(snapshot);
        if (wanted_.document == nullptr) next_ = next;
    }
    published_.notify_all();
    wake_();
}

}  // namespace attn::app
