#include "app/session/files/settings.hpp"

#include <cstdlib>
#include <exception>
#include <system_error>

#include "app/session/document/memory_budget.hpp"
#include "engine/io/atomic_file.hpp"
#include "engine/io/folder.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/json_object.hpp"

namespace attn::app {

namespace {

constexpr std::uint64_t kMaxSettingsBytes = 256 << 10;
constexpr double kMaxMemoryMiB = 1e9;
constexpr std::int64_t kMostLessonSteps = 1'000'000;
constexpr std::int32_t kMaxPosition = 100'000;  // window systems use 16-bit coordinates; leave some slack

std::map<std::string, std::size_t> lessons_from_json(JsonObject object) {
    std::map<std::string, std::size_t> lessons;
    for (const auto& [name, step] : object.whole().members()) {
        std::int64_t number = 0;
        object.read(name, number, 0, kMostLessonSteps);
        lessons[name] = static_cast<std::size_t>(number);
    }
    return lessons;
}

Json to_json(const std::map<std::string, std::size_t>& lessons) {
    Json json = Json::object();
    for (const auto& [name, step] : lessons) json[name] = step;
    return json;
}

Settings parse(const std::string& text, const std::string& source) {
    JsonObject object(text, source);
    Settings settings;
    object.read("dark", settings.dark);
    object.read("zoom", settings.zoom, 0.5, 4);
    object.read("left_pane", settings.left_pane);
    object.read("right_pane", settings.right_pane);
    object.read("strip", settings.strip);
    if (object.has("map")) object.read("map", settings.map.emplace());
    object.read("morphing", settings.morphing);
    object.read("left_width", settings.left_width, 50, 4000);
    object.read("right_width", settings.right_width, 50, 4000);
    object.read("window_placed", settings.window_placed);
    object.read("window_x", settings.window_x, -kMaxPosition, kMaxPosition);
    object.read("window_y", settings.window_y, -kMaxPosition, kMaxPosition);
    object.read("window_width", settings.window_width, 200, kMaxPosition);
    object.read("window_height", settings.window_height, 150, kMaxPosition);
    object.read("window_maximized", settings.window_maximized);
    object.read("preset", settings.preset);
    object.read("texts", settings.texts);
    object.read("source_texts", settings.source_texts);
    object.read("desktop_dialog", settings.desktop_dialog);
    object.read("recent_files", settings.recent_files);
    object.read("recent_models", settings.recent_models);
    object.read("models_folder", settings.models_folder);
    object.read("folded_parts", settings.folded_parts);
    object.read("toured", settings.toured);
    if (object.has("lessons")) settings.lessons = lessons_from_json(object.object("lessons"));
    object.read("memory_mib", settings.memory_mib, 0, kMaxMemoryMiB);
    object.read("history_mib", settings.history_mib, 0, kMaxMemoryMiB);
    return settings;
}

std::filesystem::path absolute_from(const char* variable) {
    const char* value = std::getenv(variable);
    std::filesystem::path path = value == nullptr ? "" : value;
    return path.is_absolute() ? path : std::filesystem::path();
}

/// "$VARIABLE/attnscope", or "~/`folder`/attnscope" if the variable is not set.
std::filesystem::path folder_of_user(const char* variable, const char* folder) {
    std::filesystem::path base = absolute_from(variable);
    if (base.empty()) {
        const std::filesystem::path home = absolute_from("HOME");
        if (home.empty()) return {};
        base = home / folder;
    }
    return base / "attnscope";
}

bool has_settings(const std::filesystem::path& file) {
    std::error_code ignored;
    return !file.empty() && std::filesystem::exists(file, ignored);
}

/// "attnscope".
constexpr int kOwnFolders = 1;

bool renamed_within_own_folder(const std::filesystem::path& from, const std::filesystem::path& to) {
    try {
        expect_no_links(from.parent_path(), kOwnFolders);
        std::filesystem::rename(from, to);
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

Settings read_settings(const std::filesystem::path& file) {
    return parse(read_whole_file(file, {.max_bytes = kMaxSettingsBytes, .stop = {}}), file.string());
}

}  // namespace

std::filesystem::path settings_path() {
    const std::filesystem::path folder = folder_of_user("XDG_CONFIG_HOME", ".config");
    return folder.empty() ? folder : folder / "settings.json";
}

std::filesystem::path autosave_path() {
    const std::filesystem::path folder = folder_of_user("XDG_STATE_HOME", ".local/state");
    return folder.empty() ? folder : folder / "autosave";
}

double memory_budget_mib(const Settings& settings) { return settings.memory_mib > 0 ? settings.memory_mib : default_memory_budget_mib(); }

namespace {

/// For those who do not write the file. What is wrong with it, the window says.
Settings settings_or_defaults(const std::filesystem::path& file) {
    try {
        if (has_settings(file)) return read_settings(file);
    } catch (const std::exception&) {
    }
    return {};
}

}  // namespace

double memory_budget_mib(const std::filesystem::path& settings_file) { return memory_budget_mib(settings_or_defaults(settings_file)); }

std::filesystem::path models_folder(const std::filesystem::path& settings_file) {
    return settings_or_defaults(settings_file).models_folder;
}

LoadedSettings load_settings(const std::filesystem::path& path) {
    if (!has_settings(path)) return {};
    try {
        return {read_settings(path), ""};
    } catch (const std::exception& error) {
        std::string note = std::string(error.what()) + "; starting with the default settings";
        std::filesystem::path bad = path;
        bad += ".bad";
        if (renamed_within_own_folder(path, bad)) note += ", the file is kept as " + bad.filename().string();
        return {{}, note};
    }
}

void save_settings(const std::filesystem::path& path, const Settings& settings) {
    make_folder(path.parent_path(), kOwnFolders);
    Json json = {
        {"dark", settings.dark},
        {"zoom", settings.zoom},
        {"left_pane", settings.left_pane},
        {"right_pane", settings.right_pane},
        {"strip", settings.strip},
        {"morphing", settings.morphing},
        {"left_width", settings.left_width},
        {"right_width", settings.right_width},
        {"window_placed", settings.window_placed},
        {"window_x", settings.window_x},
        {"window_y", settings.window_y},
        {"window_width", settings.window_width},
        {"window_height", settings.window_height},
        {"window_maximized", settings.window_maximized},
        {"preset", settings.preset},
        {"texts", settings.texts},
        {"source_texts", settings.source_texts},
        {"desktop_dialog", settings.desktop_dialog},
        {"recent_files", settings.recent_files},
        {"recent_models", settings.recent_models},
        {"models_folder", settings.models_folder},
        {"folded_parts", settings.folded_parts},
        {"toured", settings.toured},
        {"lessons", to_json(settings.lessons)},
        {"memory_mib", settings.memory_mib},
        {"history_mib", settings.history_mib},
    };
    if (settings.map) json["map"] = *settings.map;
    write_whole_file(path, json.dump(2, Json::InvalidUtf8::Replace) + "\n");
}

}  // namespace attn::app
