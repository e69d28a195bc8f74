#pragma once
/// A recording of somebody's own code, and what of it is shown.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/recording/logged.hpp"
#include "engine/recording/recorded_trace.hpp"
#include "engine/recording/recording.hpp"

namespace attn::app {

/// What a recording holds, without the numbers. Immutable: a recording that grows is opened again.
class OpenedRecording {
public:
    /// Whether it is a folder that attnscope.py or another program wrote as a recording.
    static bool is_in(const std::filesystem::path& path);
    /// Of a job of several processes, what the one with that rank recorded; without a rank, the heads of all if they can be joined. Throws
    /// FileError as read_recording(), and if it holds no step.
    static std::shared_ptr<const OpenedRecording> open(const std::filesystem::path& path, std::optional<std::int64_t> rank = {});
    /// The same recording as it is by now. Throws as open().
    std::shared_ptr<const OpenedRecording> opened_again() const;
    /// One that the program carries, which lessons show. Throws Error if there is none of that name.
    static std::shared_ptr<const OpenedRecording> shipped(std::string_view name);

    /// Of one that the program carries, only its name.
    const std::filesystem::path& path() const { return recording_.path; }
    bool is_shipped() const { return shipped_; }
    /// What its code had logged when it was opened; null if nothing.
    const std::shared_ptr<const recording::Logged>& logged() const { return logged_; }
    const recording::Recording& recording() const { return recording_; }
    /// The rank that was asked for.
    const std::optional<std::int64_t>& asked_rank() const { return asked_rank_; }
    /// In rising order, at least one.
    const std::vector<std::int64_t>& steps() const { return steps_; }
    /// Whether its folder holds another list of steps by now, or another description. Throws FileError if it cannot be listed.
    bool has_grown() const;
    /// Whether the other one is the same run in the same place, as it was described when this was opened; it may have more steps.
    bool describes_the_same(const OpenedRecording& other) const;
    /// The name of the folder.
    std::string name() const;

private:
    explicit OpenedRecording(recording::Recording recording);
    static std::shared_ptr<const OpenedRecording> open(const std::filesystem::path& path, std::optional<std::int64_t> rank,
                                                       const recording::Recording* before);

    recording::Recording recording_;
    std::optional<std::int64_t> asked_rank_;
    std::vector<std::int64_t> steps_;
    bool shipped_ = false;
    std::shared_ptr<const recording::Logged> logged_;
    std::filesystem::file_time_type described_{};  ///< when it was described last; the beginning of time if it was not
};

/// The third place that numbers can come from: one step of a recording, and of its attentions those that are shown beside each other.
struct RecordedNumbers {
    std::shared_ptr<const OpenedRecording> recording;
    std::int64_t step = 0;
    std::size_t group = 0;  ///< of the step's graph, see recording::groups_of()

    /// What of a recording is shown does not change when it grows.
    bool operator==(const RecordedNumbers& other) const;
};

/// A step that was opened to be read.
class OpenedStep {
public:
    /// Throws FileError if the step cannot be read or has no attention that can be drawn.
    explicit OpenedStep(const RecordedNumbers& numbers);

    const recording::RecordedStep& step() const { return step_; }
    const recording::RecordedGraph& graph() const { return *graph_; }
    const std::vector<recording::AttentionGroup>& groups() const { return groups_; }
    const recording::AttentionGroup& group() const { return groups_[group_]; }
    const recording::FindParameter& parameter() const { return parameter_; }
    recording::RecordedGroup recorded() const { return {recording_->recording(), *graph_, group(), step_, parameter_}; }

private:
    std::shared_ptr<const OpenedRecording> recording_;
    recording::RecordedStep step_;
    const recording::RecordedGraph* graph_;
    std::vector<recording::AttentionGroup> groups_;
    std::size_t group_;
    recording::FindParameter parameter_;
};

/// Said where something needs a model that can run.
inline constexpr std::string_view kRecordingDoesNotRun = "a recording holds numbers, not a model that runs";

}  // namespace attn::app
