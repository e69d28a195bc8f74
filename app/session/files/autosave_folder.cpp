#include "app/session/files/autosave_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <system_error>
#include <utility>

#include "app/session/document/document_json.hpp"
#include "app/session/files/model_listing.hpp"
#include "engine/io/atomic_file.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/folder.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/json.hpp"
#include "engine/io/json_object.hpp"
#include "engine/io/utf8.hpp"
#include "engine/train/run_folder_writer.hpp"

namespace attn::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAboutName = "about.json";
constexpr const char* kDocumentName = "document.attnscope.json";
constexpr const char* kTaskName = "task.txt";
constexpr std::string_view kRunPrefix = "run-";
constexpr int kOwnParents = 2;  // "attnscope/autosave"
constexpr std::uint64_t kMostAbout = 64 << 10;
constexpr std::int64_t kLatest = std::int64_t{1} << 40;  // seconds
/// Every autosave rewrites the run's earlier models, so only a few small ones are included.
constexpr std::size_t kAutosavedMoments = 8, kMostMomentBytes = std::size_t{16} << 20;

std::string first_words(const Document& document) {
    constexpr std::size_t kMostLetters = 60;
    std::string name = document.preset.empty() ? document.trained ? "trained model" : "untitled" : document.preset;
    for (const std::string& text : document.texts)
        if (!text.empty()) return fmt::format("{}: {}", name, escaped(text, kMostLetters));
    return name;
}

AutosaveWords words_about(const UnsavedWork& work) {
    AutosaveWords words;
    if (work.document != nullptr) words.document = work.file.empty() ? first_words(*work.document) : escaped(work.file.filename().native());
    if (!work.runs.empty()) words.run = work.runs.back().words;
    if (work.runs.size() > 1) words.run += fmt::format(", and {} more", work.runs.size() - 1);
    words.written_at = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    return words;
}

std::string run_name(std::uint64_t number) { return fmt::format("{}{}", kRunPrefix, number); }

/// "run-12" -> 12
std::optional<std::uint64_t> number_of(const std::string& name) {
    if (!name.starts_with(kRunPrefix)) return std::nullopt;
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data() + kRunPrefix.size(), name.data() + name.size(), number);
    return error == std::errc() && run_name(number) == name ? std::optional(number) : std::nullopt;
}

/// The runs in a folder, by number.
std::set<std::uint64_t> runs_in(const fs::path& folder) {
    std::set<std::uint64_t> numbers;
    std::error_code error, unknown;
    for (const std::string& name : names_in_folder(folder, error))
        if (const auto number = number_of(name); number && fs::exists(folder / name / kCheckpointName, unknown)) numbers.insert(*number);
    return numbers;
}

/// A generic description of a folder whose about.json is missing or damaged.
AutosaveWords words_without_about(const fs::path& folder, bool document, const std::set<std::uint64_t>& runs) {
    AutosaveWords words;
    if (document) words.document = "a document";
    if (!runs.empty()) words.run = runs.size() == 1 ? "a training run" : fmt::format("{} training runs", runs.size());
    std::error_code unknown;
    const auto changed = fs::last_write_time(document ? folder / kDocumentName : folder / run_name(*runs.begin()), unknown);
    if (!unknown)
        words.written_at =
            std::chrono::duration_cast<std::chrono::seconds>((std::chrono::file_clock::to_sys(changed)).time_since_epoch()).count();
    return words;
}

struct About {
    AutosaveWords words;
    fs::path file;
    std::vector<RunOfWork> runs;  ///< without their places, if they are autosaved
};

/// JSON cannot hold a name that is not UTF-8.
std::string written_path(const fs::path& path) { return find_invalid_utf8(path.native()) ? "" : path.string(); }

About read_about(const fs::path& path) {
    JsonObject object(read_whole_file(path, {.max_bytes = kMostAbout, .stop = {}}), path.string());
    About about;
    std::string file;
    object.read("document", about.words.document);
    object.read("run", about.words.run);
    object.read("written_at", about.words.written_at, 0, kLatest);
    object.read("file", file);
    for (JsonObject& run : object.objects("runs")) {
        RunOfWork& of = about.runs.emplace_back();
        run.read("number", of.number);
        run.read("file", of.file);
        run.read("autosaved", of.autosaved);
        if (!of.autosaved) of.place = std::exchange(of.file, {});
    }
    about.file = file;
    return about;
}

bool is_there(const fs::path& path) {
    std::error_code unknown;
    return fs::exists(path, unknown);
}

/// Folder names consist of process id and attempt, as in "4711-0".
bool is_name_of_ours(const std::string& name) { return name.find_first_not_of("0123456789-") == std::string::npos; }

/// Whether document_to_json() accepts the text.
bool stands_in_document(const std::string& task_text) { return task_text.size() <= kMostTaskText && !find_invalid_utf8(task_text); }

}  // namespace

AutosaveFolder AutosaveFolder::create(const fs::path& parent) {
    make_folder(parent, kOwnParents);
    for (int attempt = 0; attempt < 1000; ++attempt) {
        const fs::path path = parent / fmt::format("{}-{}", ::getpid(), attempt);
        if (!make_new_folder(path)) continue;
        try {
            AutosaveFolder folder(path);
            // A window starting at the same time may have removed the folder because it is still empty.
            if (is_there(path)) return folder;
        } catch (const FileError&) {
            // Another process has just locked the folder in order to remove it.
        }
    }
    throw FileError(FileFault::Io, escaped(parent.native(), 0), "", "no new folder can be created in it");
}

std::optional<AutosaveFolder> AutosaveFolder::free_folder(const fs::path& path) {
    try {
        return AutosaveFolder(path);
    } catch (const FileError&) {
        return {};
    }
}

std::vector<AutosaveFolder> AutosaveFolder::leftovers(const fs::path& parent) {
    expect_no_links(parent, kOwnParents);
    std::vector<AutosaveFolder> found;
    std::error_code error, unknown;
    for (const std::string& name : names_in_folder(parent, error)) {
        if (!is_name_of_ours(name) || !fs::is_directory(fs::symlink_status(parent / name, unknown))) continue;
        std::optional<AutosaveFolder> held = free_folder(parent / name);
        if (!held) continue;
        AutosaveFolder folder = std::move(*held);
        const bool document = is_there(folder.path_ / kDocumentName);
        const std::set<std::uint64_t> runs = runs_in(folder.path_);
        if (!document && runs.empty()) {
            folder.remove();
            continue;
        }
        try {
            folder.words_ = read_about(folder.path_ / kAboutName).words;
        } catch (const std::exception&) {
            folder.words_ = words_without_about(folder.path_, document, runs);
        }
        found.push_back(std::move(folder));
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.words_.written_at > b.words_.written_at; });
    return found;
}

void AutosaveFolder::write_document(const UnsavedWork& work) {
    expect_no_links(path_, kOwnParents + 1);
    std::error_code ignored;
    if (work.document == nullptr) {
        fs::remove(path_ / kDocumentName, ignored);
        fs::remove(path_ / kTaskName, ignored);
        return;
    }
    Document written = *work.document;
    if (work.look) written.look = work.look;
    const std::shared_ptr<const std::string> task = written.run.task.text;
    if (task == nullptr || stands_in_document(*task)) {
        save_document(path_ / kDocumentName, written);
        fs::remove(path_ / kTaskName, ignored);
        return;
    }
    write_whole_file(path_ / kTaskName, *task);
    written.run.task.text.reset();
    save_document(path_ / kDocumentName, written);
}

void AutosaveFolder::write_run(const UnsavedRun& run, const std::set<std::int64_t>& named) {
    expect_no_links(path_, kOwnParents + 1);
    const fs::path folder = path_ / run_name(run.number);
    make_folder(folder, 1);
    const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(run.contents->checkpoint.parameters->count());
    const std::size_t most = std::min(kAutosavedMoments, kMostMomentBytes / std::max<std::size_t>(bytes, 1));
    write_run_folder(folder, *run.contents, {.most_moments = most, .named = named});
}

void AutosaveFolder::remove_runs_except(const std::vector<UnsavedRun>& runs) {
    expect_no_links(path_, kOwnParents + 1);
    std::error_code ignored;
    for (const std::uint64_t number : runs_in(path_)) {
        const auto is_it = [&](const UnsavedRun& run) { return run.number == number && !run.in_file(); };
        if (std::none_of(runs.begin(), runs.end(), is_it)) fs::remove_all(path_ / run_name(number), ignored);
    }
}

void AutosaveFolder::write_words(const UnsavedWork& work) {
    expect_no_links(path_, kOwnParents + 1);
    words_ = words_about(work);
    Json runs = Json::list();
    for (const UnsavedRun& run : work.runs)
        runs.push_back(Json{{"number", run.number}, {"file", written_path(run.file)}, {"autosaved", !run.in_file()}});
    const Json json{{"document", words_.document},
                    {"run", words_.run},
                    {"written_at", words_.written_at},
                    {"file", written_path(work.file)},
                    {"runs", std::move(runs)}};
    write_whole_file(path_ / kAboutName, json.dump(2, Json::InvalidUtf8::Replace) + "\n");
}

KeptWork AutosaveFolder::read(const fs::path& path) {
    KeptWork work;
    std::set<std::uint64_t> runs = runs_in(path);
    try {
        const About about = read_about(path / kAboutName);
        work.file = about.file;
        for (const RunOfWork& run : about.runs)
            if (runs.erase(run.number) > 0 || !run.place.empty()) work.runs.push_back(run);
    } catch (const std::exception&) {
        // The work is then restored without its own files.
    }
    for (const std::uint64_t number : runs) work.runs.push_back({.number = number, .place = {}, .autosaved = true});
    for (RunOfWork& run : work.runs)
        if (run.autosaved) run.place = path / run_name(run.number);
    try {
        if (is_there(path / kDocumentName)) work.document = load_document(path / kDocumentName, &work.left_out, model_places());
        if (work.document && is_there(path / kTaskName))
            work.document->run.task.text =
                std::make_shared<const std::string>(read_whole_file(path / kTaskName, {.max_bytes = kMaxTextBytes, .stop = {}}));
    } catch (const std::exception& error) {
        if (work.runs.empty()) throw;
        work.document.reset();
        work.problem = error.what();
    }
    if (!work.document && work.runs.empty()) throw FileError(FileFault::Schema, escaped(path.native(), 0), "", "it contains no saved work");
    return work;
}

void AutosaveFolder::remove() noexcept {
    try {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    } catch (const std::exception&) {
        // Out of memory: the folder stays.
    }
    lock_.reset();
}

}  // namespace attn::app
