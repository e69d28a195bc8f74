#include "app/session/training/folder_watch.hpp"

#include <chrono>
#include <memory>
#include <system_error>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/io/folder_lock.hpp"
#include "engine/train/run_folder.hpp"

namespace attn::app {
namespace {

constexpr std::chrono::milliseconds kLookPause{500};

}  // namespace

struct FolderWatch::Watched {
    std::filesystem::path folder;
    std::function<void(bool ended)> changed;
    std::filesystem::file_time_type seen{};

    /// Whether the checkpoint has been replaced since this was last asked.
    bool is_replaced() {
        std::error_code missing;
        const auto written = std::filesystem::last_write_time(folder / kCheckpointName, missing);
        return !missing && std::exchange(seen, written) != written;
    }
};

bool FolderWatch::is_written(const std::filesystem::path& folder) {
    try {
        const FolderLock lock(folder);
        return false;
    } catch (const FileError&) {
        std::error_code unknown;
        return std::filesystem::is_directory(folder, unknown);
    }
}

void FolderWatch::begin(std::filesystem::path folder, std::function<void(bool ended)> changed) {
    auto watched = std::make_shared<Watched>(Watched{std::move(folder), std::move(changed)});
    watched->is_replaced();
    worker_.send_later(Worker::Clock::now() + kLookPause, [this, watched](const std::stop_token&) { look(watched); });
}

void FolderWatch::end() {
    worker_.clear();
    worker_.send_and_wait([this](const std::stop_token&) { worker_.clear(); });
}

void FolderWatch::look(const std::shared_ptr<Watched>& watched) {
    const bool ended = !is_written(watched->folder);
    // Asked after that: what was saved last is not missed.
    if (watched->is_replaced() || ended) watched->changed(ended);
    if (!ended) worker_.send_later(Worker::Clock::now() + kLookPause, [this, watched](const std::stop_token&) { look(watched); });
}

}  // namespace attn::app
