#pragma once
/// Settings that the window keeps between sessions; none of them belong to a document.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attn::app {

/// Sizes are in logical pixels, window geometry in the units of the window system.
struct Settings {
    bool dark = true;
    double zoom = 1;  ///< interface scale on top of the display's, 0.5 to 4
    bool left_pane = true, right_pane = true, strip = true;
    std::optional<bool> map{};  ///< whether the map of the model is open; none: if there is room
    bool morphing = true;       ///< animate the transition between maps of the same shape
    double left_width = 208, right_width = 324;
    bool window_placed = false;  ///< false: the system places the window
    std::int32_t window_x = 0, window_y = 0, window_width = 1600, window_height = 1000;
    bool window_maximized = false;
    std::string preset;                            ///< the last preset opened, "" for the default
    std::vector<std::string> texts, source_texts;  ///< the last texts of that preset; empty: its own
    bool desktop_dialog = false;                   ///< prefer the desktop's own file dialog
    std::vector<std::string> recent_files;         ///< newest first
    std::vector<std::string> recent_models;        ///< published models, newest first
    std::string models_folder;                     ///< the user's models folder, "" if none is set
    /// Names of the collapsed groups in the settings pane; initially the less common ones.
    std::vector<std::string> folded_parts{"heads",    "measure",   "what if",       "tokenizer aside", "other masks",
                                          "softmax",  "edits",     "compare",       "model",           "tokens",
                                          "parts",    "mistakes",  "run optimizer", "run mistake",     "run model",
                                          "run stop", "run parts", "run sampling",  "run checkpoint"};
    bool toured = false;                           ///< the tour has been completed, or is not offered any more
    std::map<std::string, std::size_t> lessons{};  ///< by name: the step, from 0, at which a lesson was left unfinished
    double memory_mib = 0;                         ///< memory limit for computed results; 0: a quarter of the machine's memory
    double history_mib = 0;                        ///< memory limit for the kept steps of all training runs; 0: the default
    bool operator==(const Settings&) const = default;
};

/// The limit that Settings::memory_mib stands for.
double memory_budget_mib(const Settings& settings);
/// The limit set in that file, for commands without a window; the default if the file has none or cannot be read.
double memory_budget_mib(const std::filesystem::path& settings_file);

/// The models folder set in that file; empty if there is none or the file cannot be read.
std::filesystem::path models_folder(const std::filesystem::path& settings_file);

/// Texts longer than this many bytes are not remembered.
inline constexpr std::size_t kMostRememberedLetters = 20'000;

/// $XDG_CONFIG_HOME/attnscope/settings.json, else ~/.config/attnscope/settings.json; empty unless one of these variables is an absolute
/// path.
std::filesystem::path settings_path();

/// The autosave folder: $XDG_STATE_HOME/attnscope/autosave, else ~/.local/state/attnscope/autosave; empty unless one of these variables is
/// an absolute path.
std::filesystem::path autosave_path();

struct LoadedSettings {
    Settings settings;
    std::string note;  ///< why the existing file was not used, "" if there was no problem
};

/// Never throws. A missing or unreadable file gives the defaults; an unreadable one is renamed to *.bad. Unknown fields are ignored, since
/// a newer version may have written them.
LoadedSettings load_settings(const std::filesystem::path& path);

/// Creates the folder if needed and writes the file atomically. Throws FileError.
void save_settings(const std::filesystem::path& path, const Settings& settings);

}  // namespace attn::app
