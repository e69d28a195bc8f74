#include "app/session/files/recording_watch.hpp"

#include <chrono>
#include <utility>

#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

constexpr std::chrono::milliseconds kLookPause{250};

/// The recording as it is now; null if it is as it was, or cannot be read at the moment.
std::shared_ptr<const OpenedRecording> read_again(const OpenedRecording& known) {
    try {
        if (!known.has_grown()) return nullptr;
        return known.opened_again();
    } catch (const Error&) {
        return nullptr;  // it is being written anew
    }
}

}  // namespace

void RecordingWatch::watch(const std::shared_ptr<const OpenedRecording>& recording) {
    std::pair<std::filesystem::path, std::optional<std::int64_t>> place;
    if (recording != nullptr) place = {recording->path(), recording->asked_rank()};
    if (place == watched_) return;
    watched_ = std::move(place);
    worker_.clear();
    // Also what a look that was in progress found.
    worker_.send_and_wait([this](const std::stop_token&) {
        worker_.clear();
        const std::lock_guard lock(mutex_);
        grown_.reset();
    });
    {
        const std::lock_guard lock(mutex_);
        logged_ = recording == nullptr ? nullptr : recording->logged();
    }
    if (recording != nullptr) look(recording);
}

std::shared_ptr<const OpenedRecording> RecordingWatch::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(grown_, nullptr);
}

std::shared_ptr<const recording::Logged> RecordingWatch::logged() const {
    const std::lock_guard lock(mutex_);
    return logged_;
}

/// Whether there is more than before; `afresh`: the recording was opened anew.
bool RecordingWatch::look_at_log(const OpenedRecording& known, bool afresh) {
    std::shared_ptr<const recording::Logged> before = afresh ? known.logged() : logged(), more;
    try {
        more = recording::read_logged(known.path(), known.recording().run, before.get());
    } catch (const Error&) {
        more = nullptr;  // it cannot be read at the moment
    }
    if (more == nullptr && !afresh) return false;
    const std::lock_guard lock(mutex_);
    logged_ = more == nullptr ? std::move(before) : std::move(more);
    return true;
}

void RecordingWatch::look(std::shared_ptr<const OpenedRecording> known) {
    worker_.send_later(Worker::Clock::now() + kLookPause, [this, known = std::move(known)](const std::stop_token& stop) mutable {
        std::shared_ptr<const OpenedRecording> grown = read_again(*known);
        if (stop.stop_requested()) return;
        const bool restarted = grown != nullptr && grown->recording().run != known->recording().run;
        if (grown != nullptr) {
            known = grown;
            const std::lock_guard lock(mutex_);
            grown_ = grown;
        }
        const bool more = look_at_log(*known, restarted);
        if (grown != nullptr || more) wake_();
        look(std::move(known));
    });
}

}  // namespace attn::app
