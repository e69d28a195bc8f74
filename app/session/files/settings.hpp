#pragma once
/// What the window remembers from one start to the next; none of it belongs to a document.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace attn::app {

/// Sizes are logical pixels, window geometry is what the window system counts in.
struct Settings {
    bool dark = true;
    double zoom = 1;  ///< size of everything, on top of the display's scale; 0.5 to 4
    bool left_pane = true, right_pane = true, strip = true;
    bool thumbnails = true;  ///< below the map of the model
    bool morphing = true;    ///< steps between maps of one shape are shown as a change
    double left_width = 248, right_width = 328, strip_height = 178;
    bool window_placed = false;  ///< false: the system chooses where the window opens
    std::int32_t window_x = 0, window_y = 0, window_width = 1600, window_height = 1000;
    bool window_maximized = false;
    std::string preset;                            ///< the last one opened, "" for the default
    std::vector<std::string> texts, source_texts;  ///< the last ones of that preset; empty: its own
    bool desktop_dialog = false;                   ///< the desktop's own file dialog comes before ours
    std::vector<std::string> recent_files;         ///< newest first
    std::vector<std::string> recent_models;        ///< published ones, newest first
    std::string models_folder;                     ///< the person's own for them, "" for none
    /// Parts of the settings that are folded, by name; at the first start those that are needed less often.
    std::vector<std::string> folded_parts{"heads", "measure", "masks aside", "other masks", "softmax",      "edits",         "compare",
                                          "model", "tokens",  "parts",       "mistakes",    "run sampling", "run checkpoint"};
    bool toured = false;    ///< the tour has been taken to its end
    double memory_mib = 0;  ///< that what is computed may take; 0: a quarter of the machine's memory
    bool operator==(const Settings&) const = default;
};

/// What Settings::memory_mib says.
double memory_budget_mib(const Settings& settings);

/// Letters of the last texts that are remembered; longer ones are not.
inline constexpr std::size_t kMostRememberedLetters = 20'000;

/// $XDG_CONFIG_HOME/attnscope/settings.json, else ~/.config/attnscope/settings.json; empty when neither variable is an absolute path.
std::filesystem::path settings_path();

/// Where work that is not saved is kept: $XDG_STATE_HOME/attnscope/autosave, else ~/.local/state/attnscope/autosave; empty when neither
/// variable is an absolute path.
std::filesystem::path autosave_path();

struct LoadedSettings {
    Settings settings;
    std::string note;  ///< why the defaults are used although there is a file, "" when nothing is wrong
};

/// Never throws: a missing file gives the defaults; an unreadable one too, and it is kept beside as *.bad. Unknown fields, which a
/// newer version may have written, are ignored.
LoadedSettings load_settings(const std::filesystem::path& path);

/// Makes the folder if it is missing and writes the file whole or not at all. Throws FileError.
void save_settings(const std::filesystem::path& path, const Settings& settings);

}  // namespace attn::app
