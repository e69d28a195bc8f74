#pragma once
/// The worker that reads and judges files with recorded attention.

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "app/session/doctor_report.hpp"

namespace attn::app {

/// One thread. A newer file takes the place of one that waits. All methods are for one thread (the UI's).
class DumpReader {
public:
    explicit DumpReader(std::function<void()> wake);
    ~DumpReader();
    DumpReader(const DumpReader&) = delete;
    DumpReader& operator=(const DumpReader&) = delete;

    void open(std::filesystem::path path);
    /// Of the file opened last; null before the first.
    std::shared_ptr<const DoctorReport> report() const;
    /// Waits until nothing is being read.
    void wait();

private:
    void run(const std::stop_token& stop);
    void publish(DoctorReport report);

    const std::function<void()> wake_;
    mutable std::mutex mutex_;  // guards the three below
    std::condition_variable_any changed_;
    std::optional<std::filesystem::path> wanted_;
    bool working_ = false;
    std::shared_ptr<const DoctorReport> report_;
    std::jthread worker_;  // last: it uses everything above
};

}  // namespace attn::app
