#include "engine/io/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "engine/io/atomic_file.hpp"
#include "engine/io/curve_csv.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/gpt2_names.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepPrefix = "step-", kStepSuffix = ".safetensors";
constexpr const char* kConfigName = "config.json";

std::string moment_name(std::int64_t step) { return fmt::format("{}{}{}", kStepPrefix, step, kStepSuffix); }

/// "step-120.safetensors" -> 120
std::optional<std::int64_t> step_of(const std::string& name) {
    std::string_view digits = name;
    if (!digits.starts_with(kStepPrefix) || !digits.ends_with(kStepSuffix)) return std::nullopt;
    digits.remove_prefix(kStepPrefix.size());
    digits.remove_suffix(kStepSuffix.size());
    std::int64_t step = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
    // Only the spelling that moment_name() gives: other files are none of ours.
    if (error != std::errc() || end != digits.data() + digits.size() || step < 0 || moment_name(step) != name) return std::nullopt;
    return step;
}

[[noreturn]] void fail(const fs::path& path, const std::error_code& error) {
    throw FileError(FileFault::Io, escaped(path.native(), 0), "", error.message());
}

/// Steps of the moments in the folder, ascending; none when there is no such folder.
std::set<std::int64_t> stored_steps(const fs::path& folder) {
    std::set<std::int64_t> steps;
    std::error_code error;
    if (!fs::exists(folder, error)) return steps;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
        if (const std::optional<std::int64_t> step = step_of(entry->path().filename().string())) steps.insert(*step);
    if (error) fail(folder, error);
    return steps;
}

/// The text of a table that may be missing.
std::optional<std::string> table(const fs::path& path) {
    std::error_code error;
    if (!fs::exists(path, error)) return std::nullopt;
    return read_whole_file(path, {.max_bytes = kMaxCsvBytes, .stop = {}});
}

template <class Point>
void drop_after(std::int64_t steps, std::vector<Point>& points) {
    std::erase_if(points, [steps](const Point& point) { return point.step > steps; });
}

std::vector<Moment> read_moments(const fs::path& folder, const Checkpoint& checkpoint) {
    std::vector<Moment> moments;
    for (const std::int64_t step : stored_steps(folder)) {
        if (step >= checkpoint.steps) break;
        const fs::path path = folder / moment_name(step);
        const Checkpoint moment = read_checkpoint(path);
        if (moment.steps != step || !(moment.parameters->config() == checkpoint.parameters->config()) ||
            moment.vocabulary != checkpoint.vocabulary || moment.settings.seed != checkpoint.settings.seed)
            throw FileError(FileFault::Schema, escaped(path.native(), 0), "", "is of another run than the checkpoint of this folder");
        moments.push_back({step, moment.parameters});
    }
    moments.push_back({checkpoint.steps, checkpoint.parameters});
    return moments;
}

/// The first, the last and those evenly between, by their place in the list.
std::vector<Moment> chosen_moments(const std::vector<Moment>& all, std::size_t most) {
    if (all.size() <= most) return all;
    std::vector<Moment> chosen;
    for (std::size_t i = 0; i < most; ++i) chosen.push_back(all[most == 1 ? 0 : i * (all.size() - 1) / (most - 1)]);
    return chosen;
}

}  // namespace

RunFolder read_run_folder(const fs::path& folder) {
    RunFolder run;
    const fs::path checkpoint = folder / kCheckpointName;
    std::error_code none;
    if (!fs::exists(checkpoint, none))
        throw FileError(FileFault::Schema, escaped(folder.native(), 0), "",
                        fmt::format("there is no {} in it: not the folder of a training run", kCheckpointName));
    run.checkpoint = read_checkpoint(checkpoint);
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

void write_run_folder(const fs::path& folder, const RunFolder& run, std::size_t most_moments) {
    const fs::path moments = folder / kMomentsName;
    std::error_code error;
    fs::create_directories(moments, error);
    if (error) fail(folder, error);
    const std::set<std::int64_t> before = stored_steps(moments);
    std::set<std::int64_t> now;
    for (const Moment& moment : chosen_moments(run.moments, most_moments)) {
        const Checkpoint& checkpoint = run.checkpoint;
        write_checkpoint(moments / moment_name(moment.step), {checkpoint.settings,
                                                              moment.step,
                                                              {},
                                                              checkpoint.tokenizer,
                                                              checkpoint.special_tokens,
                                                              checkpoint.vocabulary,
                                                              moment.parameters,
                                                              {},
                                                              {}});
        now.insert(moment.step);
    }
    write_whole_file(folder / kCurvesName, curves_csv(run.losses, run.validations));
    write_whole_file(folder / kHeadsName, heads_csv(run.heads));
    const Config& config = run.checkpoint.parameters->config();
    if (is_gpt2(config)) write_whole_file(folder / kConfigName, gpt2_config_json(config));
    replace_checkpoint(folder / kCheckpointName, run.checkpoint);
    for (const std::int64_t step : before)
        if (!now.contains(step) && !fs::remove(moments / moment_name(step), error) && error) fail(moments / moment_name(step), error);
}

}  // namespace attn
