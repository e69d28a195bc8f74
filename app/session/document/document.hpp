#pragma once
/// The user's settings: a plain value that determines everything on screen.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/document/look.hpp"
#include "app/session/document/writing.hpp"
#include "app/session/states/state.hpp"
#include "engine/generate/sampling.hpp"
#include "engine/train/run_settings.hpp"

namespace attn::app {

/// Learned parameters: those of one moment of a training run of this session.
struct TrainedModel {
    std::uint64_t run = 0;
    std::optional<std::int64_t> step;  ///< nearest saved moment; none: follow the newest
    bool operator==(const TrainedModel&) const = default;
};

/// Where a training run is.
struct RunPlace {
    std::string path{};    ///< full
    std::string beside{};  ///< from the document's folder; "": not known
    bool operator==(const RunPlace&) const = default;
};

/// States pinned for comparison.
struct Pins {
    std::optional<State> a, b;
    bool a_reads_along = false;  ///< A is another model, beside the shown one: its text is always the shown one's
    bool operator==(const Pins&) const = default;
};

/// The shown state is this setup with the parameters of `trained`, or with initial ones.
struct Document : Setup {
    std::string preset;                   ///< the preset it started from, "" if none
    std::string look_at;                  ///< the preset's hint on what to look at
    std::optional<TrainedModel> trained;  ///< where the parameters come from; none: initial ones, as `config` says
    /// What is shown of a recording. The setup then describes it: of `forward` only the edits have an effect.
    std::optional<RecordedNumbers> recorded{};
    std::size_t recorded_files = 0;  ///< how many files with steps the recording had when it was read last
    Pins pins;
    std::optional<Look> look;  ///< in a document's file: where it was looked at when it was saved
    SamplingSettings sampling;
    Writing writing;                                  ///< all branches; `written` holds the tokens up to the shown one
    RunSettings run = default_run(TaskKind::Repeat);  ///< settings of the next training run; the current run takes over what it can
    /// In a document's file: where the runs are that it names, by their numbers. Once it is opened: those that could not be opened.
    std::map<std::uint64_t, RunPlace> run_places{};
    bool operator==(const Document&) const = default;
};

inline constexpr std::string_view kDocumentExtension = ".attnscope.json";

/// The most that a document's texts and source texts may hold together. A trace of one text this long would be far too large for memory,
/// and every undo step stores the texts.
inline constexpr std::size_t kTextLimitBytes = 128 << 10;

inline std::size_t bytes_of(const std::vector<std::string>& texts) {
    std::size_t bytes = 0;
    for (const std::string& text : texts) bytes += text.size();
    return bytes;
}
/// Total size of texts and source texts.
inline std::size_t text_bytes(const Setup& setup) { return bytes_of(setup.texts) + bytes_of(setup.source_texts); }

}  // namespace attn::app
