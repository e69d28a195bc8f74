#include "app/platform/file_portal.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <utility>

namespace attn::app {

#ifdef ATTN_HAS_DBUS

FilePortal::FilePortal(std::function<void()> wake, std::string address, std::chrono::milliseconds patience)
    : wake_(std::move(wake)), address_(std::move(address)), patience_(patience) {
    if (!address_.empty()) worker_.emplace().send([this](const std::stop_token& stop) { find_out(stop); });
}

void FilePortal::find_out(const std::stop_token& stop) {
    const bool there = portal_version({address_, [&stop] { return stop.stop_requested(); }, patience_}) > 0;
    {
        const std::lock_guard lock(mutex_);
        there_ = there;
    }
    wake_();
}

void FilePortal::show(const DesktopQuestion& question, std::uint64_t turn, const std::stop_token& stop) {
    const auto given_up = [&] {
        const std::lock_guard lock(mutex_);
        return stop.stop_requested() || turn != turn_;
    };
    if (given_up()) return;
    DesktopAnswer answer = ask_portal({address_, given_up, patience_}, question);
    {
        const std::lock_guard lock(mutex_);
        if (turn != turn_) return;
        answer_ = std::move(answer);
    }
    wake_();
}

void FilePortal::ask(DesktopQuestion question) {
    std::uint64_t turn = 0;
    {
        const std::lock_guard lock(mutex_);
        turn = ++turn_;
        answer_.reset();
    }
    if (worker_) worker_->send([this, turn, question = std::move(question)](const std::stop_token& stop) { show(question, turn, stop); });
}

#else

FilePortal::FilePortal(std::function<void()> wake, std::string, std::chrono::milliseconds patience)
    : wake_(std::move(wake)), patience_(patience) {}

void FilePortal::ask(DesktopQuestion) {}

#endif

FilePortal::~FilePortal() = default;

bool FilePortal::is_there() const {
    const std::lock_guard lock(mutex_);
    return there_;
}

void FilePortal::give_up() {
    const std::lock_guard lock(mutex_);
    ++turn_;
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
