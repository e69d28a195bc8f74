#pragma once
/// How a training run came to be what it is: where it branched off, and what was set when.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/io/json_object.hpp"
#include "engine/train/run_settings.hpp"

namespace attn {

/// Where a run branched off another one.
struct RunOrigin {
    std::uint64_t run = 0;  ///< its number in the session in which the branch was made
    std::int64_t step = 0;
    std::string name{};         ///< what the user had called it; "" for nothing
    bool from_earlier = false;  ///< that is not this session: the branch was opened from a file
    bool operator==(const RunOrigin&) const = default;
};

/// Settings, other than where the run ends, that were changed after `step` steps.
struct SettingsChange {
    std::int64_t step = 0;
    RunSettings settings;  ///< from then on
    bool operator==(const SettingsChange&) const = default;
};

struct RunCourse {
    RunSettings begun;  ///< the settings at the start
    std::optional<RunOrigin> origin{};
    std::vector<SettingsChange> changes{};  ///< by ascending step, one for a step
    /// Whether there is anything to tell besides the settings.
    bool eventful() const { return origin || !changes.empty(); }
    bool operator==(const RunCourse&) const = default;
};

/// Whether the settings are the same except for where the run ends.
bool same_but_for_end(const RunSettings& a, const RunSettings& b);

/// {"begun": settings, "origin": {"run", "step", "name"}, "changes": [{"step", "settings"}, ...]}
Json to_json(const RunCourse& course);
/// Of a run with `steps` steps. Throws FileError as run_settings_from_json() does, and for steps out of order.
RunCourse run_course_from_json(JsonObject object, std::int64_t steps);

}  // namespace attn
