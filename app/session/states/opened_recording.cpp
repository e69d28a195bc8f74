#include "app/session/states/opened_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "engine/io/file_error.hpp"

namespace attn::app {
namespace {

const recording::RecordedGraph& graph_of(const recording::Recording& recording, const recording::RecordedStep& step) {
    if (step.graph() >= recording.graphs.size())
        throw FileError(FileFault::Schema, step.source(), "",
                        fmt::format("refers to graph {}, which recording.json does not have", step.graph()));
    return recording.graphs[step.graph()];
}

std::filesystem::file_time_type written_at(const std::filesystem::path& folder) {
    std::error_code missing;
    const auto written = std::filesystem::last_write_time(folder / "recording.json", missing);
    return missing ? std::filesystem::file_time_type() : written;
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

OpenedRecording::OpenedRecording(const std::filesystem::path& path) : described_(written_at(path)) {
    recording_ = recording::read_recording(path);
    for (const recording::StepFile& file : recording_.steps)
        if (steps_.empty() || steps_.back() != file.step) steps_.push_back(file.step);
    if (steps_.empty()) throw FileError(FileFault::Schema, path.string(), "", "holds no step yet");
}

std::shared_ptr<const OpenedRecording> OpenedRecording::open(const std::filesystem::path& path) {
    return std::shared_ptr<const OpenedRecording>(new OpenedRecording(path));
}

bool OpenedRecording::has_grown() const {
    if (written_at(path()) != described_) return true;
    return recording::count_steps(path(), recording_.run) != recording_.steps.size();
}

bool RecordedNumbers::operator==(const RecordedNumbers& other) const {
    const auto is_same = [](const OpenedRecording& a, const OpenedRecording& b) {
        return a.path() == b.path() && a.recording().run == b.recording().run;
    };
    const bool same =
        recording == other.recording || (recording != nullptr && other.recording != nullptr && is_same(*recording, *other.recording));
    return same && step == other.step && group == other.group;
}

std::string OpenedRecording::name() const {
    const std::filesystem::path whole = recording_.path.has_filename() ? recording_.path : recording_.path.parent_path();
    return whole.filename().string();
}

OpenedStep::OpenedStep(const RecordedNumbers& numbers)
    : recording_(numbers.recording), step_(step_file(recording_->recording(), numbers.step).path),
      graph_(&graph_of(recording_->recording(), step_)), groups_(recording::groups_of(*graph_)),
      group_(std::min(numbers.group, groups_.empty() ? 0 : groups_.size() - 1)),
      parameter_(parameters_as_of(recording_->recording(), step_file(recording_->recording(), numbers.step))) {
    if (groups_.empty()) throw FileError(FileFault::Schema, step_.source(), "", "holds no attention whose queries and keys are known");
}

}  // namespace attn::app
