#include "engine/train/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/io/folder.hpp"
#include "engine/train/curve_csv.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepPrefix = "step-", kStepSuffix = ".safetensors";

/// "step-120.safetensors" -> 120
std::optional<std::int64_t> step_of(const std::string& name) {
    std::string_view digits = name;
    if (!digits.starts_with(kStepPrefix) || !digits.ends_with(kStepSuffix)) return std::nullopt;
    digits.remove_prefix(kStepPrefix.size());
    digits.remove_suffix(kStepSuffix.size());
    std::int64_t step = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
    // Only names that moment_name() would give; other files are not ours.
    if (error != std::errc() || end != digits.data() + digits.size() || step < 0 || moment_name(step) != name) return std::nullopt;
    return step;
}

[[noreturn]] void fail(const fs::path& path, const std::error_code& error) {
    throw FileError(FileFault::Io, escaped(path.native(), 0), "", error.message());
}

/// False only if the file is known not to exist; throws if the system cannot tell.
bool is_there(const fs::path& path) {
    std::error_code error;
    const bool found = fs::exists(path, error);
    if (error) fail(path, error);
    return found;
}

/// The text of a table; nullopt if it is missing.
std::optional<std::string> table(const fs::path& path) {
    if (!is_there(path)) return std::nullopt;
    return read_whole_file(path, {.max_bytes = kMaxCsvBytes, .stop = {}});
}

template <class Point>
void drop_after(std::int64_t steps, std::vector<Point>& points) {
    std::erase_if(points, [steps](const Point& point) { return point.step > steps; });
}

Checkpoint newest_in(const fs::path& folder) {
    const fs::path checkpoint = folder / kCheckpointName;
    if (!is_there(checkpoint))
        throw FileError(FileFault::Schema, escaped(folder.native(), 0), "",
                        fmt::format("it has no {}: this is not the folder of a training run", kCheckpointName));
    return read_checkpoint(checkpoint);
}

std::vector<Moment> read_moments(const fs::path& folder, const Checkpoint& checkpoint) {
    std::vector<Moment> moments;
    for (const std::int64_t step : stored_moments(folder)) {
        if (step >= checkpoint.steps) break;
        const fs::path path = folder / moment_name(step);
        const Checkpoint moment = read_checkpoint(path);
        if (moment.steps != step || !(moment.parameters->config() == checkpoint.parameters->config()) ||
            moment.vocabulary != checkpoint.vocabulary || moment.settings.seed != checkpoint.settings.seed)
            throw FileError(FileFault::Schema, escaped(path.native(), 0), "",
                            "belongs to a different run than the checkpoint in this folder");
        moments.push_back({step, moment.parameters});
    }
    moments.push_back({checkpoint.steps, checkpoint.parameters});
    return moments;
}

}  // namespace

std::string moment_name(std::int64_t step) { return fmt::format("{}{}{}", kStepPrefix, step, kStepSuffix); }

std::set<std::int64_t> stored_moments(const fs::path& folder) {
    std::set<std::int64_t> steps;
    if (!is_there(folder)) return steps;
    std::error_code error;
    for (const std::string& name : names_in_folder(folder, error))
        if (const std::optional<std::int64_t> step = step_of(name)) steps.insert(*step);
    if (error) fail(folder, error);
    return steps;
}

bool is_run(const fs::path& path) {
    std::error_code none;
    try {
        return is_checkpoint(fs::is_directory(path, none) ? path / kCheckpointName : path);
    } catch (const FileError&) {
        return false;
    }
}

Checkpoint read_run_checkpoint(const fs::path& path) {
    std::error_code unknown;
    return fs::is_directory(path, unknown) ? newest_in(path) : read_checkpoint(path);
}

RunFolder read_run_folder(const fs::path& folder) {
    RunFolder run;
    run.checkpoint = newest_in(folder);
    const std::int64_t steps = run.checkpoint.steps;
    if (const auto text = table(folder / kCurvesName)) {
        Curves curves = curves_from_csv(*text, escaped((folder / kCurvesName).native(), 0));
        run.losses = std::move(curves.losses);
        run.validations = std::move(curves.validations);
    }
    if (const auto text = table(folder / kHeadsName)) run.heads = heads_from_csv(*text, escaped((folder / kHeadsName).native(), 0));
    drop_after(steps, run.losses);
    drop_after(steps, run.validations);
    drop_after(steps, run.heads);
    run.moments = read_moments(folder / kMomentsName, run.checkpoint);
    return run;
}

}  // namespace attn
