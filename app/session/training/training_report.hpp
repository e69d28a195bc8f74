#pragma once
/// What a training run shows of itself: the newest state, and its curves. Panels read it, the session fills it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/tokenizer/tokenizer.hpp"
#include "engine/train/curve.hpp"
#include "engine/train/run_settings.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {
struct RunFolder;
}

namespace attn::app {

/// Is given a run as it stands, with its curves and kept moments, and whether it would be lost.
using KeepRun = std::function<void(std::shared_ptr<const RunFolder>, bool unsaved)>;

enum class TrainingPhase : std::uint8_t {
    Idle,  ///< no run yet
    Running,
    Paused,    ///< by the user
    Finished,  ///< a stop condition holds: `message` says which
    Failed,    ///< not finite or out of memory: `message` says what; the last finite weights are kept
};

/// One held-out sequence, with what the model makes of it.
struct HeldOutExample {
    std::vector<std::string> tokens;       ///< as they should be: what was hidden stands in its place
    std::vector<std::string> predicted;    ///< in the place of each token; "" where none is asked for
    std::vector<std::int8_t> right;        ///< 1 right, 0 wrong, -1 not asked for
    std::vector<std::string> source = {};  ///< what the encoder reads
};

/// The held-out examples as the model answered them after `step` steps.
struct HeldOutAnswers {
    std::int64_t step = 0;
    std::vector<HeldOutExample> examples;
};

/// A run that another one has taken the place of; it can be taken up again as it was left.
struct KeptRun {
    std::uint64_t run = 0;
    RunSettings settings;
    TrainingPhase phase = TrainingPhase::Paused;
    std::int64_t step = 0, saved_step = 0;
    std::size_t moments = 0, history_bytes = 0;
    bool unsaved() const { return step != saved_step; }
};

/// The newest state of the run: immutable, shared by pointer, newest wins.
struct TrainingSnapshot {
    std::uint64_t serial = 0;  ///< grows with every publication
    std::uint64_t run = 0;     ///< counts runs from 1; 0 before the first
    bool from_file = false;    ///< taken up from a checkpoint
    TrainingPhase phase = TrainingPhase::Idle;
    std::string message;           ///< why it finished or failed
    RunSettings settings;          ///< as the run uses them now
    Mistake then = Mistake::None;  ///< of the run that begins when this one has ended; None: no run does
    bool paired = false;           ///< one of two that differ in their mistake only: until both have ended nothing about them changes
    std::int64_t step = 0;
    std::int64_t saved_step = 0;  ///< the last one that stands in a file; 0 for a new run, which has nothing to lose
    std::shared_ptr<const Parameters<float>> parameters;  ///< after `step` steps, or a few before the newest
    std::int64_t parameters_step = 0;
    std::vector<std::int64_t> moments;  ///< steps whose parameters the history keeps, ascending
    std::size_t history_bytes = 0, history_budget = 0;
    std::vector<std::string> vocabulary;
    TokenizerKind tokenizer = TokenizerKind::Character;
    bool special_tokens = false;
    std::string probe;                                           ///< a held-out sequence
    std::string probe_source;                                    ///< what the encoder reads of it; "" where there is none
    std::vector<std::shared_ptr<const HeldOutAnswers>> answers;  ///< of every evaluation, or of every second, fourth ... of many; ascending
    std::vector<KeptRun> kept;                                   ///< in the order of their numbers
    double tokens_per_second = 0, ms_per_step = 0, seconds = 0;
    double seconds_left = -1;   ///< until settings.stop.steps; below 0: not known
    std::string notice;         ///< what the last saving or opening did or could not do
    std::uint64_t notices = 0;  ///< grows with every `notice`
    bool refused = false;       ///< `notice` says what could not be done
};

/// The curves of one run: every point once, except that of a very long run the older part is thinned out (see add_point).
struct RunCurves {
    std::uint64_t run = 0;
    RunSettings settings;              ///< at its start
    std::optional<RunSettings> later;  ///< as they were changed on the way; none: they never were
    std::vector<LossPoint> losses;
    std::vector<ValidationPoint> validations;
    std::vector<HeadPoint> heads;
    std::uint64_t serial = 0;  ///< grows whenever something is appended
};

/// Owned by the session on the UI's thread, so that drawing needs no lock.
struct TrainingReport {
    std::shared_ptr<const TrainingSnapshot> snapshot;  ///< never null
    std::vector<RunCurves> runs;                       ///< oldest first, but the last is that of `snapshot`
};

}  // namespace attn::app
