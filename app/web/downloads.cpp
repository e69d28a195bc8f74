#include "app/web/downloads.hpp"

#include <sys/stat.h>

#include "app/web/browser.hpp"

namespace attn::app {

namespace fs = std::filesystem;

void Downloads::hand_over() {
    std::error_code gone;  // files are renamed and removed by other threads meanwhile
    for (fs::directory_iterator entry(kDownloads, gone), end; !gone && entry != end; entry.increment(gone)) {
        const fs::path& file = entry->path();
        struct stat found {};
        if (file.filename().native().starts_with('.') || ::stat(file.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
        const Time written{found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
        if (written == Time{} || known_[file] == written) continue;
        known_[file] = written;
        browser::download(file.native());
    }
}

}  // namespace attn::app
