#include "engine/io/hub_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/io/file_error.hpp"
#include "engine/io/folder.hpp"
#include "engine/io/input_file.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEntry = "models--", kSnapshots = "snapshots";
constexpr std::uint64_t kLongestReference = 256;

FileError broken_entry(const fs::path& path, std::string_view problem) {
    return {FileFault::Schema, escaped(path.native(), 0), "", problem};
}

/// The last component of a path, with or without a trailing slash.
fs::path last_name(const fs::path& path) { return path.has_filename() ? path.filename() : path.parent_path().filename(); }

/// The model's folder if the path is one or its subfolder "snapshots"; else empty.
fs::path entry_of(const fs::path& path) {
    std::error_code unknown;
    if (path.empty() || fs::exists(path / "config.json", unknown)) return {};
    const fs::path whole = fs::absolute(path, unknown).lexically_normal();
    if (last_name(whole).string().starts_with(kEntry)) return fs::is_directory(whole, unknown) ? whole : fs::path();
    const fs::path folder = whole.has_filename() ? whole : whole.parent_path();
    if (folder.filename() == kSnapshots && fs::is_directory(folder, unknown)) return folder.parent_path();
    return fs::is_directory(folder / kSnapshots, unknown) ? folder : fs::path();
}

/// The content of refs/main; "" if there is none.
std::string main_commit(const fs::path& entry) {
    const fs::path file = entry / "refs" / "main";
    std::error_code unknown;
    if (!fs::exists(file, unknown)) return "";
    std::string commit = read_whole_file(file, {.max_bytes = kLongestReference, .stop = {}});
    commit.erase(commit.find_last_not_of(" \t\r\n") + 1);
    const bool plain = !commit.empty() && commit != "." && commit != ".." &&
                       std::all_of(commit.begin(), commit.end(), [](unsigned char c) { return c > ' ' && c < 0x7F && c != '/'; });
    if (!plain) throw broken_entry(file, fmt::format("expected the name of a snapshot, found \"{}\"", escaped(commit)));
    return commit;
}

fs::path newest_snapshot(const fs::path& snapshots) {
    std::error_code unknown;
    std::vector<std::string> names = names_in_folder(snapshots, unknown);
    std::sort(names.begin(), names.end());
    fs::path newest;
    fs::file_time_type newest_time;
    for (const std::string& name : names) {
        if (!fs::is_directory(snapshots / name, unknown)) continue;
        const fs::file_time_type time = fs::last_write_time(snapshots / name, unknown);
        if (!newest.empty() && time <= newest_time) continue;
        newest = snapshots / name;
        newest_time = time;
    }
    return newest;
}

fs::path snapshot_of(const fs::path& entry) {
    const fs::path snapshots = entry / kSnapshots;
    std::error_code unknown;
    if (const std::string commit = main_commit(entry); !commit.empty()) {
        if (fs::is_directory(snapshots / commit, unknown)) return snapshots / commit;
        throw broken_entry(entry, fmt::format("refs/main names the snapshot {}, which does not exist: the download is incomplete", commit));
    }
    const fs::path newest = newest_snapshot(snapshots);
    if (newest.empty()) throw broken_entry(entry, "this folder of Hugging Face's cache has no snapshot: nothing was downloaded");
    return newest;
}

/// Whether a model may need the file. Others, such as pictures, may be missing.
bool may_be_needed(const std::string& name) {
    const std::string ending = fs::path(name).extension().string();
    constexpr std::string_view kEndings[] = {".json", ".safetensors", ".txt", ".model", ".tiktoken", ".gguf"};
    return std::find(std::begin(kEndings), std::end(kEndings), ending) != std::end(kEndings);
}

void expect_whole_links(const fs::path& snapshot, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        std::error_code error;
        if (!may_be_needed(name) || fs::exists(fs::status(snapshot / name, error))) continue;
        const bool circle = error == std::errc::too_many_symbolic_link_levels;
        throw broken_entry(snapshot / name, circle ? "this link leads in a circle"
                                                   : "this link leads to a file that does not exist: the download is incomplete");
    }
}

}  // namespace

bool is_hub_entry(const fs::path& path) { return !entry_of(path).empty(); }

fs::path model_in_cache(const fs::path& path) {
    const fs::path entry = entry_of(path);
    if (entry.empty()) {
        refuse_whole_cache(path);
        return path;
    }
    const fs::path snapshot = snapshot_of(entry);
    std::error_code error;
    std::vector<std::string> names = names_in_folder(snapshot, error);
    if (error) throw FileError(FileFault::Io, escaped(snapshot.native(), 0), "", "cannot be read: " + error.message());
    std::sort(names.begin(), names.end());
    expect_whole_links(snapshot, names);
    if (std::find(names.begin(), names.end(), "config.json") != names.end()) return snapshot;
    std::erase_if(names, [](const std::string& name) { return fs::path(name).extension() != ".gguf"; });
    if (names.empty()) return snapshot;
    if (names.size() > 1)
        throw FileError(FileFault::Schema, escaped(snapshot.native(), 0), "",
                        fmt::format("holds {} GGUF files: open one of them, such as {}", names.size(), escaped(names.front())));
    return snapshot / names.front();
}

void refuse_whole_cache(const fs::path& path) {
    std::error_code unknown;
    if (path.empty() || fs::exists(path / "config.json", unknown)) return;
    for (const fs::path& cache : {path, path / "hub"}) {
        std::vector<std::string> names = names_in_folder(cache, unknown);
        std::erase_if(names, [](const std::string& name) { return !name.starts_with(kEntry); });
        if (names.empty()) continue;
        const fs::path first = cache / *std::min_element(names.begin(), names.end());
        throw broken_entry(path, "this is Hugging Face's cache: open one of the models in it, such as " + escaped(first.native(), 0));
    }
}

std::string hub_name(const fs::path& path) {
    std::string found;
    for (const fs::path& part : path) {
        const std::string& name = part.native();
        if (!name.starts_with(kEntry) || name.size() == kEntry.size()) continue;
        found = name.substr(kEntry.size());
    }
    for (std::size_t at = 0; (at = found.find("--", at)) != std::string::npos; ++at) found.replace(at, 2, "/");
    return found;
}

}  // namespace attn
