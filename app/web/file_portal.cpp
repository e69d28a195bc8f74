/// The browser's dialogs in place of the desktop's. Files that are to be saved get a name without one: they become downloads, and the
/// browser may ask.

#include "app/platform/file_portal.hpp"

#include <utility>

#include "app/web/browser.hpp"
#include "app/web/downloads.hpp"

namespace attn::app {
namespace {

/// "*.a", "*.b" -> ".a,.b"; "" if a filter takes everything.
std::string endings_of(const std::vector<DesktopFilter>& filters) {
    std::string endings;
    for (const DesktopFilter& filter : filters)
        for (const std::string& pattern : filter.patterns) {
            if (!pattern.starts_with("*.")) return "";
            endings += (endings.empty() ? "" : ",") + pattern.substr(1);
        }
    return endings;
}

}  // namespace

FilePortal::FilePortal(std::function<void()> wake, std::string, std::chrono::milliseconds patience)
    : wake_(std::move(wake)), patience_(patience), there_(true) {}

FilePortal::~FilePortal() = default;

bool FilePortal::is_there() const { return there_; }

void FilePortal::ask(DesktopQuestion question) {
    answer_.reset();
    const auto then = [this, turn = ++turn_](std::string_view path) {
        if (turn != turn_) return;
        answer_ = path.empty() ? DesktopAnswer{} : DesktopAnswer{DesktopAnswer::Outcome::Chosen, path};
        wake_();
    };
    if (question.what == DesktopQuestion::What::SaveFile) return then(std::string(kDownloads) + question.name);
    browser::choose(question.what == DesktopQuestion::What::OpenFolder, endings_of(question.filters), then);
}

void FilePortal::give_up() {
    ++turn_;
    answer_.reset();
}

std::optional<DesktopAnswer> FilePortal::take_answer() { return std::exchange(answer_, {}); }

std::string session_bus_address() { return ""; }

}  // namespace attn::app
