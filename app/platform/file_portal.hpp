#pragma once
/// The desktop's own file dialog, asked beside the window's work.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "app/platform/portal_call.hpp"

namespace attn::app {

/// Looks from the beginning on whether the desktop has such a dialog. Nothing here waits but the destructor, for a moment.
class FilePortal {
public:
    /// On the bus of this session, or of another. `wake` is called from a thread of its own when something has come.
    explicit FilePortal(std::function<void()> wake, std::string address, std::chrono::milliseconds patience = kPortalPatience);
    ~FilePortal();
    FilePortal(const FilePortal&) = delete;
    FilePortal& operator=(const FilePortal&) = delete;

    /// True once the desktop has said that it has one.
    bool is_there() const;
    /// Takes the place of a question that is not answered yet.
    void ask(DesktopQuestion question);
    /// Closes the dialog; there will be no answer.
    void give_up();
    /// To the last question, once.
    std::optional<DesktopAnswer> take_answer();

private:
    void work(const std::stop_token& stop);
    void find_out(const std::stop_token& stop);

    std::function<void()> wake_;
    std::string address_;
    std::chrono::milliseconds patience_;
    mutable std::mutex mutex_;
    std::condition_variable_any asked_;
    bool there_ = false;
    std::optional<DesktopQuestion> question_;
    std::optional<DesktopAnswer> answer_;
    std::uint64_t turn_ = 0;  ///< grows with every question and with every one that is given up
    std::jthread worker_;     ///< last: it uses what stands above
};

/// Address of the bus of the session that this process belongs to; "" where there is none. Starts none.
std::string session_bus_address();

}  // namespace attn::app
