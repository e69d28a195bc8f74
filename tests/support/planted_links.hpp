#pragma once
/// Plants symbolic links where a writer writes, and checks that nothing behind them changes.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "engine/tensor/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::test {

/// Every entry below the folder, as a relative path, with its contents and what tells it from a copy; links count as what they name.
inline std::map<std::filesystem::path, std::string> contents_of(const std::filesystem::path& folder) {
    std::map<std::filesystem::path, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        std::string bytes = entry.is_symlink() ? "-> " + std::filesystem::read_symlink(entry.path()).native() : "";
        if (entry.is_regular_file() && !entry.is_symlink()) {
            std::ifstream stream(entry.path(), std::ios::binary);
            bytes.assign(std::istreambuf_iterator<char>(stream), {});
            struct stat status {};
            EXPECT_EQ(::stat(entry.path().c_str(), &status), 0);
            bytes += " " + std::to_string(status.st_ino) + " " + std::to_string(status.st_mtim.tv_nsec);
        }
        all[std::filesystem::relative(entry.path(), folder)] = bytes;
    }
    return all;
}

/// `write` writes into a folder, which may be empty or hold what it wrote earlier; it may refuse with Error. It is told to do so with a
/// link at each name that it leaves: to what was there, to nothing, and in an empty folder.
inline void expect_no_writing_behind_links(const std::function<void(const std::filesystem::path&)>& write) {
    namespace fs = std::filesystem;
    const TemporaryFolder first;
    ASSERT_NO_THROW(write(first.path()));
    ASSERT_NO_THROW(write(first.path())) << "over what it wrote";
    std::vector<fs::path> names;
    for (const auto& [name, bytes] : contents_of(first.path())) names.push_back(name);
    ASSERT_FALSE(names.empty());
    enum class Plant { OverContents, OverContentsToNothing, Alone };
    for (const fs::path& name : names) {
        for (const Plant plant : {Plant::OverContents, Plant::OverContentsToNothing, Plant::Alone}) {
            SCOPED_TRACE(name.native() + (plant == Plant::OverContents ? "" : plant == Plant::Alone ? ", alone" : ", to nothing"));
            const TemporaryFolder place, elsewhere;
            const fs::path victim = elsewhere / "victim";
            if (plant == Plant::Alone) fs::create_directories((place / name).parent_path());
            else fs::copy(first.path(), place.path(), fs::copy_options::recursive);
            if (plant == Plant::OverContentsToNothing) {
                fs::remove_all(place / name);
            } else {
                fs::copy(first / name, victim, fs::copy_options::recursive);
                fs::remove_all(place / name);
                // What a writer takes for a leftover of its own.
                if (fs::is_directory(victim)) std::ofstream(victim / ".attnscope-0123.tmp") << "precious";
            }
            fs::create_symlink(victim, place / name);
            const auto before = contents_of(elsewhere.path());
            try {
                write(place.path());
            } catch (const Error&) {
            }
            EXPECT_EQ(contents_of(elsewhere.path()), before);
        }
    }
}

}  // namespace attn::test

namespace attn::app::test {
using attn::test::expect_no_writing_behind_links;
}
