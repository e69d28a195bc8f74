#pragma once
/// Files that the page writes into its memory reach the visitor as downloads.

#include <ctime>
#include <filesystem>
#include <map>
#include <utility>

namespace attn::app {

/// The working directory: what is opened is copied into it, and what is saved is written there.
inline constexpr const char* kDownloads = "/downloads/";

class Downloads {
public:
    /// Hands over what was written since the last call. What a visitor gave the page is known; page.js dates it 1970.
    void hand_over();

private:
    using Time = std::pair<std::time_t, long>;
    std::map<std::filesystem::path, Time> known_;  ///< when each was written that was handed over
};

}  // namespace attn::app
