#pragma once
/// Asynchronous access to the desktop's own file dialog.

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "app/platform/portal_call.hpp"
#include "app/session/threads/worker.hpp"

namespace attn::app {

/// Detects the dialog in the background from construction on. Only the destructor blocks, briefly.
class FilePortal {
public:
    /// `address`: the session bus or another one. `wake` is called from a worker thread when there is news.
    explicit FilePortal(std::function<void()> wake, std::string address, std::chrono::milliseconds patience = kPortalPatience);
    ~FilePortal();
    FilePortal(const FilePortal&) = delete;
    FilePortal& operator=(const FilePortal&) = delete;

    /// True once the desktop is known to have a file dialog.
    bool is_there() const;
    /// Shows a dialog; replaces one that is still open.
    void ask(DesktopQuestion question);
    /// Closes the dialog without an answer.
    void give_up();
    /// The answer to the last question; returned once.
    std::optional<DesktopAnswer> take_answer();

private:
    void find_out(const std::stop_token& stop);
    void show(const DesktopQuestion& question, std::uint64_t turn, const std::stop_token& stop);

    std::function<void()> wake_;
    std::string address_;
    std::chrono::milliseconds patience_;
    mutable std::mutex mutex_;
    bool there_ = false;
    std::optional<DesktopAnswer> answer_;
    std::uint64_t turn_ = 0;        ///< incremented with every question and every cancellation
    std::optional<Worker> worker_;  ///< none without a bus; last, because it uses the members above
};

/// The address of this process's session bus; "" if there is none. Does not start one.
std::string session_bus_address();

}  // namespace attn::app
