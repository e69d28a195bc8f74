#pragma once
/// Numbers and texts that recorded code logged beside its tensors: `run.step(loss=...)` and `run.text(...)` of attnscope.py.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace attn::recording {

/// A number over the steps in which it was logged.
struct LoggedCurve {
    std::string name;
    std::vector<double> steps;  ///< ascending
    std::vector<float> values;  ///< NaN and infinities where the code had them
};

struct LoggedTexts {
    std::int64_t step = 0;
    std::vector<std::string> texts;
};

/// What one run has logged by now.
struct Logged {
    std::filesystem::path folder;
    std::int64_t run = 1;
    std::vector<LoggedCurve> curves;                ///< in the order in which their names occurred first
    std::vector<LoggedTexts> texts;                 ///< the last of them
    std::uint64_t curve_bytes = 0, text_bytes = 0;  ///< how far its files were read
    bool empty() const { return curves.empty() && texts.empty(); }
};

inline constexpr std::size_t kMostCurves = 64, kMostLoggedTexts = 200;
inline constexpr std::size_t kMostTextsOfStep = 16, kMostLoggedText = 2000;  ///< the latter in bytes; longer ones are cut, with "…"

/// Reads what the first rank of a run has logged since `before` was read; without it, from the beginning. Null if there is nothing new.
/// Lines that are not as expected are left out, as is a last line that is not complete. Throws FileError if a file cannot be read.
std::shared_ptr<const Logged> read_logged(const std::filesystem::path& folder, std::int64_t run, const Logged* before = nullptr);

}  // namespace attn::recording
