#include "app/session/dump_reader.hpp"

#include <exception>
#include <utility>

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
        report.file = path.string();
        try {
            report.diagnosis = doctor::examine_file(path);
        } catch (const std::bad_alloc&) {
            report.problem = "there is not enough memory for this file";
        } catch (const std::exception& error) {
            report.problem = escaped(error.what(), 0);
        }
        publish(std::move(report));
    }
}

void DumpReader::publish(DoctorReport report) {
    {
        const std::lock_guard lock(mutex_);
        working_ = false;
        if (!wanted_) report_ = std::make_shared<const DoctorReport>(std::move(report));
    }
    changed_.notify_all();
    wake_();
}

}  // namespace attn::app
