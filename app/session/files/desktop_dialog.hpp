#pragma once
/// A request to the desktop's own file dialog, and its answer.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace attn::app {

/// One kind of file, given by name patterns such as "*.json".
struct DesktopFilter {
    std::string name;
    std::vector<std::string> patterns;
};

struct DesktopQuestion {
    enum class What : std::uint8_t { OpenFile, OpenFolder, SaveFile };
    What what = What::OpenFile;
    std::string title, accept;  ///< title of the dialog, label of its accept button
    std::string folder;         ///< absolute path of the initial folder; "": the desktop decides
    std::string name;           ///< suggested name of the file to save
    std::vector<DesktopFilter> filters{};
    std::size_t filter = 0;  ///< index of the filter selected at first
};

struct DesktopAnswer {
    enum class Outcome : std::uint8_t { Chosen, Cancelled, Failed };
    Outcome outcome = Outcome::Cancelled;
    std::filesystem::path path{};  ///< the chosen path
    std::string problem{};         ///< why it failed, in one sentence
};

}  // namespace attn::app
