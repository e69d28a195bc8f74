#pragma once
/// What the desktop's own file dialog is asked, and what it says.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace attn::app {

/// Files of one kind, by their names: "*.json".
struct DesktopFilter {
    std::string name;
    std::vector<std::string> patterns;
};

struct DesktopQuestion {
    enum class What : std::uint8_t { OpenFile, OpenFolder, SaveFile };
    What what = What::OpenFile;
    std::string title, accept;  ///< of the dialog, and on its button
    std::string folder;         ///< where it begins, absolute; "" leaves that to the desktop
    std::string name;           ///< of the file that is saved
    std::vector<DesktopFilter> filters{};
    std::size_t filter = 0;  ///< the one that is chosen at first
};

struct DesktopAnswer {
    enum class Outcome : std::uint8_t { Chosen, Cancelled, Failed };
    Outcome outcome = Outcome::Cancelled;
    std::filesystem::path path{};  ///< that was chosen
    std::string problem{};         ///< why it failed, in one sentence
};

}  // namespace attn::app
