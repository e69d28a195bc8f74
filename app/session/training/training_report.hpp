#pragma once
/// The state of training as shown in the UI: the newest status of the run, and its curves. Filled by the session, read by panels.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/io/file_stamp.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/train/curve.hpp"
#include "engine/train/run_course.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {
struct RunFolder;
}

namespace attn::app {

struct HeldOutTexts;

/// A run of this session, to be kept against a crash.
struct HandedRun {
    std::uint64_t run = 0;
    std::shared_ptr<const RunFolder> contents;  ///< with its curves and moments; null if it is gone
    std::string file;                           ///< its own file; "": none
    bool unsaved = false;                       ///< it would otherwise be lost
    bool current = false;                       ///< not one that was replaced by another
    bool gone = false;                          ///< it was given up
};
using KeepRun = std::function<void(HandedRun)>;

/// Memory for the moments of all runs together, by default. Each run that begins may fill half of what the others leave free.
inline constexpr std::size_t kHistoriesBudget = std::size_t{512} << 20;

enum class TrainingPhase : std::uint8_t {
    Idle,  ///< no run yet
    Running,
    Paused,    ///< by the user
    Finished,  ///< a stop condition was met: `message` says which
    Failed,    ///< non-finite numbers or out of memory: `message` says which; the last finite parameters are kept
};

/// A run that was replaced by another one and can be resumed.
struct KeptRun {
    std::uint64_t run = 0;
    RunSettings settings;
    TrainingPhase phase = TrainingPhase::Paused;
    std::int64_t step = 0, saved_step = 0;
    std::size_t moments = 0, history_bytes = 0;
    std::string file{};  ///< path that it was last saved to or opened from; "" for none
    std::string name{};  ///< as in RunStatus
    bool unsaved() const { return step != saved_step; }
};

/// The outcome of an order to open a run.
struct OpenedRun {
    std::uint64_t order = 0;  ///< as the trainer numbered it
    std::uint64_t run = 0;    ///< 0: it could not be opened
    std::string problem{};    ///< then says why
};

/// The newest state of the run. Immutable, shared by pointer.
struct RunStatus {
    std::uint64_t serial = 0;        ///< incremented with every published status
    std::uint64_t run = 0;           ///< counted from 1; 0 before the first run
    bool from_file = false;          ///< resumed from a checkpoint
    bool followed = false;           ///< another process trains it: its folder is read whenever that has saved
    std::string file;                ///< path that it was last saved to or opened from; "" for none
    std::optional<FileStamp> stamp;  ///< of its checkpoint there, as it was then
    std::string name;                ///< given by the user; "" for none
    TrainingPhase phase = TrainingPhase::Idle;
    std::string message;           ///< why it finished or failed
    RunSettings settings;          ///< in effect now
    Mistake then = Mistake::None;  ///< mistake of the run that starts when this one ends; None: no run follows
    bool paired = false;           ///< one of two runs that differ only in their mistake; its settings are fixed until both have ended
    std::int64_t step = 0;
    std::int64_t saved_step = 0;                          ///< in a file; 0: a new run, with nothing to lose; -1: no file has it as it is
    std::shared_ptr<const Parameters<float>> parameters;  ///< after `parameters_step` steps, which may be slightly before `step`
    std::int64_t parameters_step = 0;
    std::vector<std::int64_t> moments;                      ///< steps with parameters in the history, ascending
    std::size_t history_bytes = 0, history_budget = 0;      ///< of this run
    std::size_t histories_bytes = 0, histories_budget = 0;  ///< of all runs
    std::vector<std::string> vocabulary;
    TokenizerKind tokenizer = TokenizerKind::Character;
    bool special_tokens = false;
    std::string probe;                             ///< a held-out sequence
    std::string probe_source;                      ///< its encoder input; "" if there is none
    std::shared_ptr<const HeldOutTexts> held_out;  ///< a few others, for facet::HeldOut
    std::vector<KeptRun> kept;                     ///< ordered by run number
    double tokens_per_second = 0, ms_per_step = 0, seconds = 0;
    double seconds_left = -1;       ///< until settings.stop.steps; negative: unknown
    std::vector<OpenedRun> opened;  ///< the latest
    std::string notice;             ///< outcome of the last attempt to open
    std::uint64_t notices = 0;      ///< incremented with every `notice`
    bool refused = false;           ///< `notice` reports an error
};

/// The curves of one run. The older part of a very long curve is thinned out (see add_point).
struct RunCurves {
    std::uint64_t run = 0;
    std::string name{};                     ///< as in RunStatus
    RunSettings settings;                   ///< at the start of the run
    std::optional<RunOrigin> origin{};      ///< of a branch: its curves begin there
    std::vector<SettingsChange> changes{};  ///< by ascending step, one for a step
    std::vector<LossPoint> losses;
    std::vector<ValidationPoint> validations;
    std::vector<HeadPoint> heads;
    std::uint64_t serial = 0;  ///< incremented whenever something is appended
};

/// Owned by the session on the UI thread, so that drawing needs no lock.
struct TrainingReport {
    std::shared_ptr<const RunStatus> status;  ///< never null
    std::vector<RunCurves> runs;              ///< oldest first, except that the last belongs to `status`
};

}  // namespace attn::app
