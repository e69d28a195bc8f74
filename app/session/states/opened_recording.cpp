#include "app/session/states/opened_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include "assets/embedded.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/folder.hpp"

namespace attn::app {
namespace {

const recording::RecordedGraph& graph_of(const recording::Recording& recording, const recording::RecordedStep& step) {
    if (step.graph() >= recording.graphs.size())
        throw FileError(FileFault::Schema, step.source(), "",
                        fmt::format("refers to graph {}, which recording.json does not have", step.graph()));
    return recording.graphs[step.graph()];
}

/// When a process described last what it records; the beginning of time if none did.
std::filesystem::file_time_type described_at(const std::filesystem::path& folder) {
    std::filesystem::file_time_type last{};
    std::error_code unknown;
    for (const std::string& name : names_in_folder(folder, unknown)) {
        if (!name.starts_with("recording") || !name.ends_with(".json")) continue;
        const auto written = std::filesystem::last_write_time(folder / name, unknown);
        if (!unknown) last = std::max(last, written);
    }
    return last;
}

}  // namespace

bool OpenedRecording::is_in(const std::filesystem::path& path) {
    std::error_code unknown;
    if (!std::filesystem::is_directory(path, unknown)) return false;
    if (std::filesystem::exists(path / "recording.json", unknown)) return true;
    for (std::filesystem::directory_iterator entry(path, unknown), end; !unknown && entry != end; entry.increment(unknown)) {
        const std::string name = entry->path().filename().string();
        if (name.starts_with("run") && name.find("-step") != std::string::npos && name.ends_with(".safetensors")) return true;
    }
    return false;
}

OpenedRecording::OpenedRecording(recording::Recording recording) : recording_(std::move(recording)) {
    for (const recording::StepFile& file : recording_.steps)
        if (steps_.empty() || steps_.back() != file.step) steps_.push_back(file.step);
    if (steps_.empty())
        throw FileError(FileFault::Schema, path().string(), "",
                        recording_.rank.value_or(0) == 0 ? "holds no step yet"
                                                         : fmt::format("holds no step of rank {} yet", *recording_.rank));
}

std::shared_ptr<const OpenedRecording> OpenedRecording::open(const std::filesystem::path& path, std::optional<std::int64_t> rank) {
    return open(path, rank, nullptr);
}

std::shared_ptr<const OpenedRecording> OpenedRecording::opened_again() const { return open(path(), asked_rank_, &recording_); }

std::shared_ptr<const OpenedRecording> OpenedRecording::open(const std::filesystem::path& path, std::optional<std::int64_t> rank,
                                                             const recording::Recording* before) {
    const std::filesystem::file_time_type described = described_at(path);
    std::shared_ptr<OpenedRecording> opened(new OpenedRecording(recording::read_recording(path, rank, before)));
    opened->described_ = described;
    opened->asked_rank_ = rank;
    opened->logged_ = recording::read_logged(path, opened->recording_.run);
    return opened;
}

std::shared_ptr<const OpenedRecording> OpenedRecording::shipped(std::string_view name) {
    const std::string folder = fmt::format("recordings/{}/", name);
    std::string_view description;
    std::vector<recording::StepFile> steps;
    for (const EmbeddedFile& file : embedded_assets()) {
        if (!file.name.starts_with(folder)) continue;
        if (file.name.ends_with(".json")) description = file.bytes;
        else steps.push_back({std::ssize(steps), 0, file.name, std::as_bytes(std::span(file.bytes))});
    }
    if (description.empty()) throw Error(fmt::format("there is no recording \"{}\" in the program", escaped(name)));
    std::shared_ptr<OpenedRecording> opened(new OpenedRecording(recording::read_recording(description, std::move(steps), name)));
    opened->shipped_ = true;
    return opened;
}

bool OpenedRecording::has_grown() const {
    std::error_code unknown;
    if (shipped_ || !std::filesystem::is_directory(path(), unknown)) return false;
    if (described_at(path()) != described_) return true;
    return recording::count_steps(path(), recording_.run) != recording_.files;
}

bool OpenedRecording::describes_the_same(const OpenedRecording& other) const {
    return path() == other.path() && recording_.run == other.recording_.run && recording_.rank == other.recording_.rank &&
           described_ == other.described_;
}

bool RecordedNumbers::operator==(const RecordedNumbers& other) const {
    const bool same = recording == other.recording ||
                      (recording != nullptr && other.recording != nullptr && recording->describes_the_same(*other.recording));
    return same && step == other.step && group == other.group;
}

std::string OpenedRecording::name() const {
    const std::filesystem::path whole = recording_.path.has_filename() ? recording_.path : recording_.path.parent_path();
    return whole.filename().string();
}

OpenedStep::OpenedStep(const RecordedNumbers& numbers)
    : recording_(numbers.recording), step_(step_file(recording_->recording(), numbers.step)),
      graph_(&graph_of(recording_->recording(), step_)), groups_(recording::groups_of(*graph_, step_)),
      group_(std::min(numbers.group, groups_.empty() ? 0 : groups_.size() - 1)),
      parameter_(parameters_as_of(recording_->recording(), step_file(recording_->recording(), numbers.step))) {
    if (groups_.empty())
        throw FileError(FileFault::Schema, step_.source(), "", "holds nothing that can be drawn: no array of one to five axes");
}

}  // namespace attn::app
