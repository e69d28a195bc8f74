#include "app/session/dump_reader.hpp"

#include <exception>
#include <utility>

#include "app/session/scarce_memory.hpp"
#include "engine/doctor/doctor.hpp"
#include "engine/io/file_error.hpp"

namespace attn::app {

DumpReader::DumpReader(std::function<void()> wake) : wake_(std::move(wake)), worker_([this](const std::stop_token& stop) { run(stop); }) {}

DumpReader::~DumpReader() = default;

void DumpReader::open(std::filesystem::path path) {
    {
        const std::lock_guard lock(mutex_);
        DoctorReport reading;
        reading.file = path.string();
        reading.reading = true;
        report_ = std::make_shared<const DoctorReport>(std::move(reading));
        wanted_ = std::move(path);
    }
    changed_.notify_all();
}

std::shared_ptr<const DoctorReport> DumpReader::report() const {
    const std::lock_guard lock(mutex_);
    return report_;
}

void DumpReader::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !wanted_ && !working_; });
}

void DumpReader::run(const std::stop_token& stop) {
    while (true) {
        DoctorReport report;
        std::filesystem::path path;
        {
            std::unique_lock lock(mutex_);
            if (!changed_.wait(lock, stop, [this] { return wanted_.has_value(); })) return;
            path = *std::exchange(wanted_, std::nullopt);
            working_ = true;
        }
        try {
            report.file = path.string();
            report.diagnosis = doctor::examine_file(path);
        } catch (const std::exception& error) {
            const std::string message = message_of(error, "there is not enough memory for this file");
            report.problem = when_memory_allows([&] { return escaped(message, 0); });
        }
        publish(std::move(report));
    }
}

void DumpReader::publish(DoctorReport report) {
    {
        const std::lock_guard lock(mutex_);
        working_ = false;
        if (!wanted_) report_ = when_memory_allows([&] { return std::make_shared<const DoctorReport>(std::move(report)); });
    }
    changed_.notify_all();
    wake_();
}

}  // namespace attn::app
