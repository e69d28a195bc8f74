#include "app/session/writer.hpp"

#include <exception>
#include <utility>

#include "app/session/facets/work.hpp"
#include "app/session/threads/scarce_memory.hpp"
#include "engine/io/while_intact.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
/// Fraction of the memory budget for keys and values kept between jobs.
constexpr double kKeptShare = 1.0 / 8;

double mib_of(const Parameters<float>& parameters) { return 4 * static_cast<double>(ParameterLayout(parameters.config()).count()) / kMiB; }

}  // namespace

Writer::Writer(decltype(Computation::write) write, std::function<void()> wake, double budget_mib)
    : write_(std::move(write)), wake_(std::move(wake)), threads_(thread_budget()), budget_mib_(budget_mib) {}

Writer::~Writer() { stop(); }

void Writer::start(WritingJob job) {
    const std::uint64_t number = begin(true);
    worker_.replace([this, number, job = std::move(job)](const std::stop_token& stop) { write(job, number, stop); });
}

void Writer::stop() {
    begin(false);
    worker_.clear();
}

std::uint64_t Writer::begin(bool busy) {
    const std::lock_guard lock(mutex_);
    busy_ = busy;
    news_ = {};
    return ++number_;
}

void Writer::keep_only(const Parameters<float>* parameters) {
    KeptText old;  // old values are destroyed after the lock is released
    std::shared_ptr<const Parameters<float>> old_of;
    const std::lock_guard lock(mutex_);
    wanted_ = parameters;
    if (kept_of_.get() == parameters) return;
    std::swap(old, kept_);
    std::swap(old_of, kept_of_);
}

void Writer::set_budget(double mib) {
    const std::lock_guard lock(mutex_);
    budget_mib_ = mib;
}

WrittenNews Writer::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(news_, {});
}

bool Writer::is_busy() const {
    const std::lock_guard lock(mutex_);
    return busy_;
}

void Writer::wait() { worker_.wait(); }

void Writer::tell(std::uint64_t number, const std::function<void(WrittenNews&)>& add) {
    {
        const std::lock_guard lock(mutex_);
        if (number != number_) return;
        add(news_);
        if (news_.ended) busy_ = false;
    }
    wake_();
}

KeptText Writer::take_kept(const WritingJob& job) {
    const std::lock_guard lock(mutex_);
    return kept_of_ == job.parameters ? std::exchange(kept_, {}) : KeptText();
}

void Writer::keep(const WritingJob& job, KeptText kept) {
    const std::lock_guard lock(mutex_);
    const bool small = static_cast<double>(kept.cache.bytes()) / kMiB <= kKeptShare * budget_mib_;
    if (!small || job.parameters.get() != wanted_) return;
    std::swap(kept_, kept);
    kept_of_ = job.parameters;
}

void Writer::write(const WritingJob& job, std::uint64_t number, const std::stop_token& stop) {
    std::string problem;
    KeptText kept = take_kept(job);
    try {
        Prompt prompt{.text = job.text, .source = job.source, .ends = job.ends, .drawn = job.drawn};
        const auto each = [&](const DrawnToken& drawn) {
            job.model.require_intact();
            const auto id = static_cast<std::size_t>(drawn.id);
            const WrittenToken token{drawn.id, kPrompt, predicted_shares(drawn.logits)[id], drawn.chances[id]};
            tell(number, [&](WrittenNews& news) { news.tokens.push_back(token); });
        };
        set_thread_budget(threads_for(mib_of(*job.parameters), threads_));
        while_intact(job.model, [&] { write_(*job.parameters, prompt, job.forward, job.sampling, each, stop, &kept); });
    } catch (const Cancelled&) {
        return keep(job, std::move(kept));
    } catch (const std::exception& error) {
        problem = message_of(error);
    }
    // To be done before the job is reported as ended, because the next one may start at once.
    keep(job, std::move(kept));
    tell(number, [&](WrittenNews& news) {
        news.ended = true;
        news.problem = std::move(problem);
    });
}

}  // namespace attn::app
