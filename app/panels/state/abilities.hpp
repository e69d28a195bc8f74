#pragma once
/// What the system around the window allows. Panels ask for it and need not know the system.

#include <string_view>

namespace attn::app {

struct Abilities {
    bool lists_files = true;     ///< files are found by their paths; otherwise they come and go through the system's own dialog alone
    bool writes_folders = true;  ///< a training run can be saved, which is a folder
    bool closes = true;          ///< the window can be closed from inside
    bool copies_links = false;   ///< what is shown can be put on the clipboard as a link
    std::string_view dialog = "desktop's dialog";
};

inline constexpr Abilities kAllAbilities{};

/// Why a training run is not saved where folders are not written.
inline constexpr const char* kNoFolders = "A run is a folder, which cannot be saved from here.";

}  // namespace attn::app
