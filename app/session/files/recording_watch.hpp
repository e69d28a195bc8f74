#pragma once
/// Watches the folder of a recording that goes on.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "app/session/states/opened_recording.hpp"
#include "app/session/threads/worker.hpp"

namespace attn::app {

class RecordingWatch {
public:
    /// `wake` is called on a thread of its own when there is something to take.
    explicit RecordingWatch(std::function<void()> wake) : wake_(std::move(wake)) {}

    /// From now on looks whether this recording has grown; null: looks at none.
    void watch(const std::shared_ptr<const OpenedRecording>& recording);
    /// The watched recording, opened again because it has grown; null if it has not since this was last asked.
    std::shared_ptr<const OpenedRecording> take();
    /// What the watched recording's code has logged by now; null if nothing.
    std::shared_ptr<const recording::Logged> logged() const;

private:
    void look(std::shared_ptr<const OpenedRecording> known);
    bool look_at_log(const OpenedRecording& known, bool afresh);

    const std::function<void()> wake_;
    std::pair<std::filesystem::path, std::optional<std::int64_t>> watched_;  ///< with the rank; used by the thread that calls watch()
    mutable std::mutex mutex_;                                               // guards grown_ and logged_
    std::shared_ptr<const OpenedRecording> grown_;
    std::shared_ptr<const recording::Logged> logged_;
    Worker worker_;
};

}  // namespace attn::app
