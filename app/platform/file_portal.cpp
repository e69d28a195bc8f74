#include "app/platform/file_portal.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <utility>

namespace attn::app {

#ifdef ATTN_HAS_DBUS

FilePortal::FilePortal(std::function<void()> wake, std::string address, std::chrono::milliseconds patience)
    : wake_(std::move(wake)), address_(std::move(address)), patience_(patience) {
    if (!address_.empty()) worker_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void FilePortal::find_out(const std::stop_token& stop) {
    const bool there = portal_version({address_, [&stop] { return stop.stop_requested(); }, patience_}) > 0;
    const std::lock_guard lock(mutex_);
    there_ = there;
}

void FilePortal::work(const std::stop_token& stop) {
    find_out(stop);
    wake_();
    while (true) {
        std::unique_lock lock(mutex_);
        if (!asked_.wait(lock, stop, [this] { return question_.has_value(); })) return;
        const DesktopQuestion question = *std::exchange(question_, {});
        const std::uint64_t turn = turn_;
        lock.unlock();
        const auto given_up = [&] {
            const std::lock_guard held(mutex_);
            return stop.stop_requested() || turn != turn_;
        };
        DesktopAnswer answer = ask_portal({address_, given_up, patience_}, question);
        lock.lock();
        if (turn != turn_) continue;
        answer_ = std::move(answer);
        lock.unlock();
        wake_();
    }
}

#else

FilePortal::FilePortal(std::function<void()> wake, std::string, std::chrono::milliseconds patience)
    : wake_(std::move(wake)), patience_(patience) {}

#endif

FilePortal::~FilePortal() = default;

bool FilePortal::is_there() const {
    const std::lock_guard lock(mutex_);
    return there_;
}

void FilePortal::ask(DesktopQuestion question) {
    {
        const std::lock_guard lock(mutex_);
        ++turn_;
        answer_.reset();
        question_ = std::move(question);
    }
    asked_.notify_all();
}

void FilePortal::give_up() {
    const std::lock_guard lock(mutex_);
    ++turn_;
    question_.reset();
    answer_.reset();
}

std::string session_bus_address() {
    if (const char* address = std::getenv("DBUS_SESSION_BUS_ADDRESS"); address != nullptr && *address != '\0') return address;
    const char* folder = std::getenv("XDG_RUNTIME_DIR");
    if (folder == nullptr || *folder != '/') return "";
    const std::string socket = std::string(folder) + "/bus";
    struct stat found {};
    return stat(socket.c_str(), &found) == 0 && S_ISSOCK(found.st_mode) ? "unix:path=" + socket : "";
}

std::optional<DesktopAnswer> FilePortal::take_answer() {
    const std::lock_guard lock(mutex_);
    return std::exchange(answer_, {});
}

}  // namespace attn::app
