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

/// The first, the last and evenly spaced moments between.
std::vector<Moment> chosen_moments(const std::vector<Moment>& all, std::size_t most) {
    if (all.size() <= most) return all;
    std::vector<Moment> chosen;
    for (std::size_t i = 0; i < most; ++i) chosen.push_back(all[most == 1 ? 0 : i * (all.size() - 1) / (most - 1)]);
    return chosen;
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
                                 fs::path(kHeadsName), fs::path(kConfigName)}) {
        std::error_code unknown;
        if (fs::symlink_status(folder_ / name, unknown).type() != fs::file_type::not_found) return name.string();
    }
    const std::set<std::int64_t> steps = stored_moments(folder_ / kMomentsName);
    return steps.empty() ? "" : (fs::path(kMomentsName) / moment_name(*steps.begin())).string();
}

void RunFolderWriter::begin(std::optional<std::int64_t> continued, std::uint64_t checkpoint_bytes) {
    const fs::path moments = folder_ / kMomentsName;
    make_folder(moments, 1);
    for (const std::string_view name : {kCurvesName, kHeadsName, kConfigName}) try_writing(folder_ / name, 0);
    try_writing(previous_checkpoint(folder_ / kCheckpointName), 0);
    try_writing(moments / moment_name(0), 0);
    try_writing(folder_ / kCheckpointName, checkpoint_bytes);
    replaces_ = !continued && !first_found().empty();
    if (!continued) return;
    stored_ = stored_moments(moments);
    stored_.erase(stored_.lower_bound(*continued), stored_.end());
}

std::string RunFolderWriter::save(const RunFolder& run, std::size_t most_moments) {
    const auto tables = [&] { write_tables(run); };
    const bool replaces = replaces_;
    // Tables before the checkpoint: entries beyond the checkpoint are dropped when read, but a checkpoint without its tables would lose
    // them. But never next to the checkpoint of another run; so when replacing one, the tables follow.
    std::string problem = replaces ? "" : attempt(tables);
    // New moments before the checkpoint for the same reason; old ones that no longer fit are removed after it.
    std::optional<std::set<std::int64_t>> before;
    if (!replaces)
        attempt([&] {
            before = stored_moments(folder_ / kMomentsName);
            add_moments(run, most_moments);
        });
    const auto replace = [&] {
        replace_checkpoint(folder_ / kCheckpointName, run.checkpoint, [&] {
            if (replaces) drop_other_run();
        });
    };
    try {
        replace();
    } catch (const FileError&) {
        // The moments may have filled the disk; the model matters more.
        bool dropped = false;
        if (before) attempt([&] { dropped = drop_moments_except(*before); });
        if (!dropped) throw;
        replace();
    }
    replaces_ = false;
    if (replaces || !problem.empty()) problem = attempt(tables);
    const std::string more = attempt([&] { drop_moments_except(add_moments(run, most_moments)); });
    return problem.empty() ? more : problem;
}

void RunFolderWriter::write_tables(const RunFolder& run) const {
    write_whole_file(folder_ / kCurvesName, curves_csv(run.losses, run.validations));
    write_whole_file(folder_ / kHeadsName, heads_csv(run.heads));
    const std::string config = transformers_config_json(run.checkpoint.parameters->config());
    if (!config.empty()) write_whole_file(folder_ / kConfigName, config);
}

std::set<std::int64_t> RunFolderWriter::add_moments(const RunFolder& run, std::size_t most_moments) {
    const fs::path moments = folder_ / kMomentsName;
    make_folder(moments, 1);
    const std::set<std::int64_t> before = stored_moments(moments);
    std::set<std::int64_t> now;
    for (const Moment& moment : chosen_moments(run.moments, most_moments)) {
        now.insert(moment.step);
        if (stored_.contains(moment.step) && before.contains(moment.step)) continue;
        write_moment(moments / moment_name(moment.step), run.checkpoint, moment);
        stored_.insert(moment.step);
    }
    return now;
}

bool RunFolderWriter::drop_moments_except(const std::set<std::int64_t>& kept) {
    const fs::path moments = moments_folder();
    bool any = false;
    for (const std::int64_t step : stored_moments(moments)) {
        if (kept.contains(step)) continue;
        remove_file(moments / moment_name(step));
        stored_.erase(step);
        any = true;
    }
    return any;
}

void RunFolderWriter::drop_other_run() const {
    const fs::path moments = moments_folder();
    for (const std::string_view name : {kCurvesName, kHeadsName, kConfigName}) remove_file(folder_ / name);
    for (const std::int64_t step : stored_moments(moments)) remove_file(moments / moment_name(step));
}

void write_run_folder(const fs::path& folder, const RunFolder& run, std::size_t most_moments) {
    RunFolderWriter writer(folder);
    writer.begin({}, 0);
    const std::string problem = writer.save(run, most_moments);
    if (!problem.empty()) throw FileError(FileFault::Io, escaped(folder.native(), 0), "", problem);
}

}  // namespace attn
