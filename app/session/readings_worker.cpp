#include "app/session/readings_worker.hpp"

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "app/session/scarce_memory.hpp"
#include "engine/ops/parallel.hpp"

namespace attn::app {

ReadingsWorker::ReadingsWorker(std::function<void()> wake, Read read)
    : wake_(std::move(wake)), read_(std::move(read)), worker_([this](const std::stop_token& stop) { run(stop); }) {}

ReadingsWorker::~ReadingsWorker() {
    worker_.request_stop();
    const std::lock_guard lock(mutex_);
    job_.request_stop();
}

void ReadingsWorker::request(std::shared_ptr<const Snapshot> snapshot) {
    {
        const std::lock_guard lock(mutex_);
        if (snapshot->serial == report_.serial) return;
        job_.request_stop();
        report_ = {};
        report_.serial = snapshot->serial;
        report_.running = true;
        wanted_ = std::move(snapshot);
    }
    changed_.notify_all();
}

ReadingsReport ReadingsWorker::report() const {
    const std::lock_guard lock(mutex_);
    return report_;
}

void ReadingsWorker::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !report_.running; });
}

void ReadingsWorker::run(const std::stop_token& stop) {
    set_thread_budget(1);  // the cores belong to the window and to training
    while (true) {
        std::shared_ptr<const Snapshot> snapshot;
        std::stop_source fresh = when_memory_allows([] { return std::stop_source(); });
        std::stop_token job;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, stop, [this] { return wanted_ != nullptr; });
            if (stop.stop_requested()) return;
            job_ = std::move(fresh);
            job = job_.get_token();
            std::swap(snapshot, wanted_);
        }
        compute(*snapshot, job);
        changed_.notify_all();
        wake_();
    }
}

void ReadingsWorker::compute(const Snapshot& snapshot, const std::stop_token& job) {
    std::shared_ptr<const Readings> readings;
    std::string problem;
    try {
        readings = std::make_shared<const Readings>(read_(*snapshot.trace, job));
    } catch (const std::exception& error) {
        problem = message_of(error);
    }
    const std::lock_guard lock(mutex_);
    if (job.stop_requested()) return;  // nobody asks for this any more
    report_.readings = std::move(readings);
    report_.problem = std::move(problem);
    report_.running = false;
}

}  // namespace attn::app
