#include "app/session/knock_out_worker.hpp"

#include <exception>
#include <utility>

#include "app/session/scarce_memory.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

bool same_document(const std::shared_ptr<const Snapshot>& a, const std::shared_ptr<const Snapshot>& b) {
    return a != nullptr && b != nullptr && a->document != nullptr && b->document != nullptr && *a->document == *b->document;
}

}  // namespace

KnockOutWorker::KnockOutWorker(std::function<void()> wake, Compute compute)
    : wake_(std::move(wake)), compute_(std::move(compute)), worker_([this](const std::stop_token& stop) { run(stop); }) {}

KnockOutWorker::~KnockOutWorker() {
    worker_.request_stop();
    const std::lock_guard lock(mutex_);
    job_.request_stop();
}

void KnockOutWorker::request(std::shared_ptr<const Snapshot> snapshot, const KnockOutQuestion& question) {
    {
        const std::lock_guard lock(mutex_);
        if (!(question == under_way_.question && same_document(snapshot, under_way_.snapshot))) job_.request_stop();
        report_.asked = snapshot->serial;
        report_.asked_question = question;
        report_.running = true;
        report_.problem.clear();
        wanted_ = {std::move(snapshot), question};
    }
    requested_.notify_one();
}

void KnockOutWorker::cancel() {
    const std::lock_guard lock(mutex_);
    job_.request_stop();
    wanted_ = {};
    report_.asked = 0;
    report_.running = false;
}

KnockOutReport KnockOutWorker::report() const {
    const std::lock_guard lock(mutex_);
    return report_;
}

void KnockOutWorker::wait() {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return !report_.running; });
}

void KnockOutWorker::run(const std::stop_token& stop) {
    set_thread_budget(1);  // the cores belong to the window and to training
    while (true) {
        Request request;
        std::stop_source fresh = when_memory_allows([] { return std::stop_source(); });
        std::stop_token job;
        {
            std::unique_lock lock(mutex_);
            requested_.wait(lock, stop, [this] { return wanted_.snapshot != nullptr; });
            if (stop.stop_requested()) return;
            job_ = std::move(fresh);
            job = job_.get_token();
            under_way_ = std::exchange(wanted_, {});
            request = when_memory_allows([&] { return under_way_; });
            report_.done = report_.total = 0;
        }
        compute(request, job);
        {
            const std::lock_guard lock(mutex_);
            under_way_ = {};
            if (wanted_.snapshot == nullptr) report_.running = false;
        }
        finished_.notify_all();
        wake_();
    }
}

void KnockOutWorker::compute(const Request& request, const std::stop_token& job) {
    const auto progress = [&](std::size_t done, std::size_t total) {
        {
            const std::lock_guard lock(mutex_);
            report_.done = done;
            report_.total = total;
        }
        wake_();
    };
    std::shared_ptr<const KnockOut> result;
    std::string problem;
    try {
        result = std::make_shared<const KnockOut>(compute_(*request.snapshot->trace, request.question, progress, job));
    } catch (const std::exception& error) {
        problem = message_of(error);
    }
    const std::lock_guard lock(mutex_);
    if (job.stop_requested()) return;  // nobody asks for this any more
    if (result == nullptr) {
        report_.problem = std::move(problem);
        return;
    }
    report_.serial = request.snapshot->serial;
    report_.question = request.question;
    report_.result = std::move(result);
}

}  // namespace attn::app
