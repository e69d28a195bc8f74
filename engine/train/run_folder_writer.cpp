#include "engine/train/run_folder_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <new>
#include <system_error>
#include <vector>

#include "engine/families/stored_parameters.hpp"
#include "engine/io/atomic_file.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/folder.hpp"
#include "engine/train/curve_csv.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfigName = "config.json";

/// A folder that the user named.
const fs::path& made(const fs::path& folder) {
    make_folder(folder, 0);
    return folder;
}

void remove_file(const fs::path& path) {
    std::error_code error;
    fs::remove(path, error);
    if (error) throw FileError(FileFault::Io, escaped(path.native(), 0), "", fmt::format("cannot be removed: {}", error.message()));
}

/// Why the work failed; "" if it succeeded.
template <class Work>
std::string attempt(const Work& work) {
    try {
        work();
    } catch (const std::bad_alloc&) {
        return "there is not enough memory";
    } catch (const std::exception& error) {
        return error.what();
    }
    return "";
}

/// The first, the last and evenly spaced moments between, and those that are named or held.
std::vector<Moment> chosen_moments(const std::vector<Moment>& all, const RunExtras& extras) {
    const std::size_t most = extras.most_moments;
    if (all.size() <= most) return all;
    std::set<std::size_t> places;
    for (std::size_t i = 0; i < most; ++i) places.insert(most == 1 ? 0 : i * (all.size() - 1) / (most - 1));
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].held || extras.named.contains(all[i].step)) places.insert(i);
    std::vector<Moment> chosen;
    for (const std::size_t place : places) chosen.push_back(all[place]);
    return chosen;
}

/// At least as many bytes as a checkpoint's numbers and text take.
std::uint64_t least_bytes(const Checkpoint& checkpoint) {
    const std::uint64_t numbers =
        static_cast<std::uint64_t>(checkpoint.parameters->count()) + checkpoint.first_moments.size() + checkpoint.second_moments.size();
    const auto& text = checkpoint.settings.task.text;
    return sizeof(float) * numbers + (text != nullptr ? text->size() : 0);
}

bool is_full(const FileError& error) { return dynamic_cast<const DiskFull*>(&error) != nullptr; }

std::uint64_t bytes_of_file(const fs::path& path) {
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(path, error);
    return error ? 0 : bytes;
}

void write_moment(const fs::path& path, const Checkpoint& newest, const Moment& moment) {
    Checkpoint model;
    model.settings = newest.settings;
    model.steps = moment.step;
    model.tokenizer = newest.tokenizer;
    model.special_tokens = newest.special_tokens;
    model.vocabulary = newest.vocabulary;
    model.parameters = moment.parameters;
    write_checkpoint(path, model);
}

/// Tests that `bytes` bytes can be written to the path; leaves nothing behind.
void try_writing(const fs::path& path, std::uint64_t bytes) {
    AtomicFile file(path);
    const std::string zeros(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, 1 << 20)), '\0');
    for (std::uint64_t left = bytes; left > 0; left -= std::min<std::uint64_t>(left, zeros.size()))
        file.write(std::string_view(zeros).substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left, zeros.size()))));
    if (bytes > 0) file.flush();
}

}  // namespace

RunFolderWriter::RunFolderWriter(const fs::path& folder) : folder_(made(folder)), lock_(folder_) {
    remove_abandoned_files(folder_);
    remove_abandoned_files(moments_folder());
}

fs::path RunFolderWriter::moments_folder() const {
    fs::path folder = folder_ / kMomentsName;
    expect_no_links(folder, 1);
    return folder;
}

std::string RunFolderWriter::first_found() const {
    for (const fs::path& name : {fs::path(kCheckpointName), previous_checkpoint(kCheckpointName), fs::path(kCurvesName),
                                 fs::path(kHeadsName), fs::path(kConfigName), fs::path(kRunDocumentName)}) {
        std::error_code unknown;
        if (fs::symlink_status(folder_ / name, unknown).type() != fs::file_type::not_found) return name.string();
    }
    const std::set<std::int64_t> steps = stored_moments(folder_ / kMomentsName);
    return steps.empty() ? "" : (fs::path(kMomentsName) / moment_name(*steps.begin())).string();
}

void RunFolderWriter::begin(std::optional<std::int64_t> continued, std::uint64_t checkpoint_bytes) {
    const fs::path moments = folder_ / kMomentsName;
    make_folder(moments, 1);
    for (const std::string_view name : {kCurvesName, kHeadsName, kConfigName, kRunDocumentName}) try_writing(folder_ / name, 0);
    try_writing(previous_checkpoint(folder_ / kCheckpointName), 0);
    try_writing(moments / moment_name(0), 0);
    try_writing(folder_ / kCheckpointName, checkpoint_bytes);
    replaces_ = !continued && !first_found().empty();
    if (!continued) return;
    stored_ = stored_moments(moments);
    stored_.erase(stored_.lower_bound(*continued), stored_.end());
}

std::string RunFolderWriter::save(const RunFolder& run, const RunExtras& extras) {
    bool full = false;  // and something was removed for that
    const auto making_room = [&](std::uint64_t bytes, const auto& write) {
        while (true) {
            try {
                return write();
            } catch (const DiskFull&) {
                bool dropped = false;
                attempt([&] { dropped = make_room(bytes, extras.named); });
                if (!dropped) throw;
                full = true;
            }
        }
    };
    const auto tables = [&] { making_room(0, [&] { write_tables(run); }); };
    const bool replaces = replaces_;
    // Tables before the checkpoint: entries beyond the checkpoint are dropped when read, but a checkpoint without its tables would lose
    // them. But never next to the checkpoint of another run; so when replacing one, the tables follow.
    std::string problem = replaces ? "" : attempt(tables);
    // New moments before the checkpoint for the same reason; old ones that no longer fit are removed after it.
    std::optional<std::set<std::int64_t>> before;
    if (!replaces)
        attempt([&] {
            before = stored_moments(folder_ / kMomentsName);
            add_moments(run, extras);
        });
    const auto replace = [&] {
        replace_checkpoint(folder_ / kCheckpointName, run.checkpoint, [&] {
            if (replaces) drop_other_run();
        });
    };
    try {
        replace();
    } catch (const FileError& error) {
        // The new moments may have filled the disk; the model matters more. The moments of another run are left to it.
        bool dropped = false;
        if (before) attempt([&] { dropped = drop_moments_except(*before); });
        if (!dropped && !(before && is_full(error))) throw;
        making_room(least_bytes(run.checkpoint), replace);
    }
    replaces_ = false;
    const auto keep_first = [&](const std::string& another) {
        if (problem.empty()) problem = another;
    };
    if (replaces || !problem.empty()) problem = attempt(tables);
    if (!extras.document.empty())
        keep_first(attempt([&] { making_room(0, [&] { write_whole_file(folder_ / kRunDocumentName, extras.document); }); }));
    if (full) keep_first("there is no room for all of its earlier models");
    else keep_first(attempt([&] { drop_moments_except(add_moments(run, extras)); }));
    return problem;
}

bool RunFolderWriter::make_room(std::uint64_t bytes, const std::set<std::int64_t>& named) {
    const fs::path previous = previous_checkpoint(folder_ / kCheckpointName), moments = moments_folder();
    // The models that were asked for by name last, and the first, with which a run begins.
    const std::set<std::int64_t> all = stored_moments(moments);
    std::vector<std::int64_t> steps(all.begin(), all.end());
    std::stable_partition(steps.begin(), steps.end(), [&](std::int64_t step) { return step > 0 && !named.contains(step); });
    std::uint64_t room = fs::space(folder_).available + bytes_of_file(previous);
    for (const std::int64_t step : steps) room += bytes_of_file(moments / moment_name(step));
    if (room < bytes) return false;  // then nothing is given up for nothing
    if (fs::exists(previous)) return remove_file(previous), true;
    if (steps.empty()) return false;
    drop_moment(steps.front());
    return true;
}

void RunFolderWriter::write_tables(const RunFolder& run) const {
    write_whole_file(folder_ / kCurvesName, curves_csv(run.losses, run.validations));
    write_whole_file(folder_ / kHeadsName, heads_csv(run.heads));
    const Config& config = run.checkpoint.parameters->config();
    // One that is there from other settings would stand beside weights that it does not describe.
    if (!unlike_transformers(config, run.checkpoint.settings.train.forward).empty()) return remove_file(folder_ / kConfigName);
    write_whole_file(folder_ / kConfigName, transformers_config_json(config));
}

std::set<std::int64_t> RunFolderWriter::add_moments(const RunFolder& run, const RunExtras& extras) {
    const fs::path moments = folder_ / kMomentsName;
    make_folder(moments, 1);
    const std::set<std::int64_t> before = stored_moments(moments);
    std::set<std::int64_t> now;
    for (const Moment& moment : chosen_moments(run.moments, extras)) {
        now.insert(moment.step);
        if (stored_.contains(moment.step) && before.contains(moment.step)) continue;
        write_moment(moments / moment_name(moment.step), run.checkpoint, moment);
        stored_.insert(moment.step);
    }
    return now;
}

void RunFolderWriter::drop_moment(std::int64_t step) {
    remove_file(moments_folder() / moment_name(step));
    stored_.erase(step);
}

bool RunFolderWriter::drop_moments_except(const std::set<std::int64_t>& kept) {
    bool any = false;
    for (const std::int64_t step : stored_moments(folder_ / kMomentsName)) {
        if (kept.contains(step)) continue;
        drop_moment(step);
        any = true;
    }
    return any;
}

void RunFolderWriter::drop_other_run() const {
    const fs::path moments = moments_folder();
    for (const std::string_view name : {kCurvesName, kHeadsName, kConfigName, kRunDocumentName}) remove_file(folder_ / name);
    for (const std::int64_t step : stored_moments(moments)) remove_file(moments / moment_name(step));
}

void write_run_folder(const fs::path& folder, const RunFolder& run, const RunExtras& extras, std::optional<std::int64_t> continued) {
    RunFolderWriter writer(folder);
    writer.begin(continued, 0);
    const std::string problem = writer.save(run, extras);
    if (!problem.empty()) throw FileError(FileFault::Io, escaped(folder.native(), 0), "", problem);
}

}  // namespace attn
