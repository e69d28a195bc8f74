#pragma once
/// Watches the folder of a run that another process trains.

#include <filesystem>
#include <functional>
#include <memory>

#include "app/session/threads/worker.hpp"

namespace attn::app {

class FolderWatch {
public:
    /// Whether another process is writing a run into the folder.
    static bool is_written(const std::filesystem::path& folder);

    /// Calls `changed`, on a thread of its own, whenever the folder's checkpoint has been replaced, and a last time when the other process
    /// has ended.
    void begin(std::filesystem::path folder, std::function<void(bool ended)> changed);
    /// Afterwards `changed` is not called, and no call is in progress.
    void end();

private:
    struct Watched;
    void look(const std::shared_ptr<Watched>& watched);

    Worker worker_;
};

}  // namespace attn::app
