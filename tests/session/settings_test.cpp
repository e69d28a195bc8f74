#include "app/session/files/settings.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

/// Sets or removes an environment variable and restores it afterwards.
class ScopedVariable {
public:
    ScopedVariable(const char* name, const char* value) : name_(name) {
        if (const char* old = std::getenv(name)) old_ = old;
        if (value == nullptr) unsetenv(name);
        else setenv(name, value, 1);
    }
    ~ScopedVariable() {
        if (old_) setenv(name_, old_->c_str(), 1);
        else unsetenv(name_);
    }
    ScopedVariable(const ScopedVariable&) = delete;
    ScopedVariable& operator=(const ScopedVariable&) = delete;

private:
    const char* name_;
    std::optional<std::string> old_;
};

void write(const std::filesystem::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

Settings some_settings() {
    Settings settings;
    settings.memory_mib = 512;
    settings.history_mib = 1024;
    settings.dark = false;
    settings.strip = false;
    settings.map = settings.morphing = false;
    settings.left_width = 301.5;
    settings.window_placed = true;
    settings.window_x = -20;
    settings.window_width = 1234;
    settings.window_maximized = true;
    settings.preset = "gpt-tiny";
    settings.texts = {"a “quoted” text", "", "two\nlines"};
    settings.source_texts = {"x", "y", "z"};
    settings.folded_parts = {"masks", "run list"};
    settings.toured = settings.desktop_dialog = true;
    settings.lessons = {{"masks", 3}, {"a “quoted” name", 0}};
    return settings;
}

TEST(Settings, LieUnderTheConfigurationFolder) {
    const ScopedVariable home("HOME", "/home/someone");
    {
        const ScopedVariable xdg("XDG_CONFIG_HOME", "/cfg");
        EXPECT_EQ(settings_path(), "/cfg/attnscope/settings.json");
    }
    {
        const ScopedVariable xdg("XDG_CONFIG_HOME", nullptr);
        EXPECT_EQ(settings_path(), "/home/someone/.config/attnscope/settings.json");
        const ScopedVariable no_home("HOME", nullptr);
        EXPECT_EQ(settings_path(), "");
    }
    const ScopedVariable relative("XDG_CONFIG_HOME", "not/absolute");
    EXPECT_EQ(settings_path(), "/home/someone/.config/attnscope/settings.json");
}

TEST(Settings, AreRememberedAndTheFolderIsMade) {
    const test::TemporaryFolder folder;
    const auto path = folder.path() / "a" / "attnscope" / "settings.json";
    save_settings(path, some_settings());
    const LoadedSettings loaded = load_settings(path);
    EXPECT_EQ(loaded.settings, some_settings());
    EXPECT_EQ(loaded.note, "");
}

TEST(Settings, AMissingFileIsNotReported) {
    const test::TemporaryFolder folder;
    for (const auto& path : {folder.path() / "none.json", std::filesystem::path()}) {
        const LoadedSettings loaded = load_settings(path);
        EXPECT_EQ(loaded.settings, Settings());
        EXPECT_EQ(loaded.note, "");
    }
}

TEST(Settings, ABadFileGivesTheDefaultsAndIsKept) {
    const test::TemporaryFolder folder;
    const auto path = folder.path() / "settings.json";
    const std::string deep(100'000, '[');
    for (const std::string& bad :
         {std::string(), std::string("{"), std::string("[]"), std::string(64, '\0'), std::string(R"({"dark": "yes"})"),
          std::string(R"({"window_x": 1000000000})"), std::string(R"({"window_width": 0})"), std::string(R"({"left_width": 1e400})"),
          std::string(R"({"dark": true, "dark": false})"), std::string(R"({"lessons": {"masks": -1}})"),
          std::string(R"({"lessons": {"masks": "third"}})"), std::string(R"({"lessons": ["masks"]})"), deep, std::string(1 << 20, ' ')}) {
        write(path, bad);
        const LoadedSettings loaded = load_settings(path);
        EXPECT_EQ(loaded.settings, Settings()) << bad.substr(0, 40);
        EXPECT_NE(loaded.note.find("settings.json.bad"), std::string::npos) << loaded.note;
        EXPECT_FALSE(std::filesystem::exists(path));
        EXPECT_TRUE(std::filesystem::exists(folder.path() / "settings.json.bad"));
    }
}

TEST(Settings, AFolderInTheirPlaceDoesNotBlockTheStart) {
    const test::TemporaryFolder folder;
    const auto path = folder.path() / "settings.json";
    std::filesystem::create_directory(path);
    EXPECT_EQ(load_settings(path).settings, Settings());
}

TEST(Settings, FieldsOfANewerVersionAreIgnored) {
    const test::TemporaryFolder folder;
    const auto path = folder.path() / "settings.json";
    write(path, R"({"dark": false, "telepathy": true})");
    const LoadedSettings loaded = load_settings(path);
    EXPECT_FALSE(loaded.settings.dark);
    EXPECT_EQ(loaded.note, "");
}

}  // namespace
}  // namespace attn::app
