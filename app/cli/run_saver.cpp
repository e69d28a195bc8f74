#include "app/cli/run_saver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <new>
#include <system_error>
#include <utility>

#include "app/session/document/document_json.hpp"
#include "app/session/document/named_runs.hpp"
#include "engine/io/file_error.hpp"
#include "engine/train/resume.hpp"

namespace attn::app {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kDefaultSeconds = 15;
/// Without an explicit pace, saving takes at most 1 / kSavingShare of the time.
constexpr int kSavingShare = 20;
constexpr std::int64_t kMaxCount = 1'000'000'000;

Clock::time_point after(double seconds) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// "500": steps; "30s", "5m": seconds. None for anything else.
std::optional<SavePace> pace_of(const std::string& text) {
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    const std::string unit(end, text.data() + text.size());
    if (error != std::errc() || count < 1 || count > kMaxCount || (!unit.empty() && unit != "s" && unit != "m")) return std::nullopt;
    if (unit.empty()) return SavePace{count, 0};
    return SavePace{0, static_cast<double>(unit == "m" ? 60 * count : count)};
}

std::string check_pace(const std::string& text) {
    return pace_of(text) ? "" : fmt::format("'{}' is neither a number of steps, such as 500, nor a time, such as 30s or 5m", text);
}

/// Whether the resumed checkpoint is the newest one of this folder.
bool goes_on_in(const fs::path& folder, const fs::path& resumed) {
    std::error_code none;
    if (resumed.empty()) return false;
    if (fs::is_directory(resumed, none)) return fs::equivalent(resumed, folder, none);
    return resumed.filename() == kCheckpointName && fs::equivalent(resumed, folder / kCheckpointName, none);
}

/// An estimate: parameters and both moments, the text, and space for metadata and tables.
std::uint64_t checkpoint_bytes(const TrainingRun& run) {
    constexpr std::uint64_t kRoom = 1 << 18;
    const auto& text = run.settings().task.text;
    return 3 * sizeof(float) * static_cast<std::uint64_t>(run.state().parameters().count()) + (text ? text->size() : 0) + kRoom;
}

/// The steps of a run that its document shows or has pinned.
std::set<std::int64_t> named_by_document(const fs::path& folder) {
    std::error_code none;
    if (!fs::exists(run_document(folder), none)) return {};
    try {
        const Document document = load_document(run_document(folder));
        const NamedRuns named = named_runs(document);
        const auto own = document.trained ? named.find(document.trained->run) : named.end();
        return own == named.end() ? std::set<std::int64_t>() : own->second;
    } catch (const Error&) {
        return {};  // whoever opens it will be told
    }
}

}  // namespace

void add_save_options(CliCommand command, SaveOptions& options) {
    const Argument out =
        command.option("--out", options.out, "Folder for model, curves and pictures, created if needed; without it nothing is kept")
            .shown_as("DIR");
    command.flag("--force", options.force, "Replace the run that DIR holds; it stays readable until the new one is saved").needs(out);
    command
        .option("--save-every", options.every,
                "Save every N steps (500) or at intervals (30s, 5m); default: every 15s, for at most a twentieth of the time")
        .shown_as("N")
        .check(check_pace)
        .needs(out);
}

RunSaver::RunSaver(const SaveOptions& options, const fs::path& resumed)
    : options_(options), resumed_(resumed), pace_(options.every.empty() ? SavePace{} : pace_of(options.every).value()) {
    std::error_code none;
    if (!options_.out.empty() && fs::exists(options_.out, none)) take_folder();
}

void RunSaver::take_folder() {
    writer_.emplace(options_.out);
    continues_ = goes_on_in(options_.out, resumed_);
    const std::string found = continues_ || options_.force ? "" : writer_->first_found();
    if (found.empty()) return;
    const std::string out = escaped(options_.out.native(), 0);
    const std::string resume = found == kCheckpointName ? fmt::format("continue that run with --resume {}, ", out) : "";
    throw FileError(FileFault::Io, out, "",
                    fmt::format("already holds {}: {}replace it with --force, or choose another folder", found, resume));
}

void RunSaver::begin(const TrainingRun& run) {
    if (options_.out.empty()) return;
    if (!writer_) take_folder();
    if (continues_) saved_step_ = run.steps();
    writer_->begin(saved_step_, checkpoint_bytes(run));
    if (continues_) extras_.named = named_by_document(options_.out);
    due_ = after(pace_.seconds > 0 ? pace_.seconds : kDefaultSeconds);
}

bool RunSaver::due(std::int64_t step) const {
    if (options_.out.empty() || tried_step_ == step) return false;
    return pace_.steps > 0 ? step % pace_.steps == 0 : Clock::now() >= due_;
}

void RunSaver::try_saving(TrainingRun& run, const RunFolder& past) {
    const auto begin = Clock::now();
    tried_step_ = run.steps();
    incomplete_ = false;
    try {
        RunFolder folder;
        folder.checkpoint = take_checkpoint(run);
        folder.checkpoint.name = past.checkpoint.name;
        folder.checkpoint.course = past.checkpoint.course;
        folder.losses = past.losses;
        folder.validations = past.validations;
        folder.heads = past.heads;
        run.keep();
        folder.moments = run.history().moments();
        problem_ = writer_->save(folder, extras_);
        incomplete_ = !problem_.empty();
        saved_step_ = tried_step_;
    } catch (const std::bad_alloc&) {
        problem_ = "there is not enough memory";
    } catch (const std::exception& error) {
        problem_ = error.what();
    }
    const std::chrono::duration<double> took = Clock::now() - begin;
    const double pause = pace_.seconds > 0 ? pace_.seconds : std::max(kDefaultSeconds, kSavingShare * took.count());
    due_ = after(pause);
}

std::string RunSaver::save(TrainingRun& run, const RunFolder& past) {
    const bool failed_before = !problem_.empty();
    try_saving(run, past);
    if (incomplete_)
        return fmt::format("step {} is saved, but some of its files are not ({}); the next save tries again", tried_step_, problem_);
    if (!problem_.empty())
        return fmt::format("step {} could not be saved ({}); training continues, and the next save tries again", tried_step_, problem_);
    return failed_before ? fmt::format("step {} is saved", tried_step_) : "";
}

std::string RunSaver::save_last(TrainingRun& run, const RunFolder& past) {
    if (options_.out.empty()) return "";
    if (tried_step_ != run.steps() || !problem_.empty()) {
        try_saving(run, past);
        if (!problem_.empty()) try_saving(run, past);
    }
    if (problem_.empty()) return "";
    if (incomplete_) return fmt::format("{}; the model after step {} is saved, but some of its files are not", problem_, tried_step_);
    if (!saved_step_) return fmt::format("{}; nothing of this run is saved: its {} steps are lost", problem_, tried_step_);
    return fmt::format("{}; what was learned after step {} is lost ({} steps)", problem_, *saved_step_, tried_step_ - *saved_step_);
}

}  // namespace attn::app
