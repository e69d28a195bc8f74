#pragma once
/// The worker that trains models.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "app/session/document/commands.hpp"
#include "app/session/threads/worker.hpp"
#include "app/session/training/folder_watch.hpp"
#include "app/session/training/live_run.hpp"
#include "app/session/training/training_report.hpp"

namespace attn::app {

/// Pause between two calls of KeepRun while training; an idle run is handed over at once.
inline constexpr std::chrono::milliseconds kHandOverPause{4000};

/// By run: the moments of it that something outside names.
using HeldMoments = std::map<std::uint64_t, std::vector<Moment>>;

/// The moments of a run that stay: those that something names, and the one with the lowest held-out loss, which can be gone to.
struct StayingMoments {
    std::vector<Moment> named{};
    Moment best{};
    double lowest = std::numeric_limits<double>::infinity();
    std::vector<Moment> all() const;
};

/// What a user can have done with the runs.
using TrainerCommand = std::variant<command::StartTraining, command::PauseTraining, command::StepTraining, command::ResetTraining,
                                    command::RestartTraining, command::BranchRun, command::TrainBoth, command::SetRun, command::ChooseRun,
                                    command::RenameRun, command::ForgetRun, command::SetHistoryBudget>;

/// Of a run's checkpoint, given by its folder or as a file.
std::optional<FileStamp> stamp_of_run(const std::filesystem::path& path);

/// One thread that owns the current run. It executes orders in sequence, between training steps; a new run cancels the step in progress. It
/// publishes a status at every change of phase and otherwise at most 30 times a second, with all points since the last one. All methods
/// must be called from one thread (the UI's).
class Trainer {
public:
    /// `wake` is called from the worker after every published status.
    Trainer(TrainingEngine engine, std::function<void()> wake);
    ~Trainer();  ///< cancels the step in progress; what is to be saved is still handed over
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;

    /// Does what the command says, with the document's `settings` for a run that starts, continues or makes a step: they apply as far as an
    /// existing run can take them over, never its mistake. Where nothing would be learned, because the learning rates are 0, a run does not
    /// start and a step is not made, but a message says so. SetRun decides again whether a run that rests is finished; TrainBoth always
    /// trains both.
    void send(TrainerCommand command, RunSettings settings = {});
    /// The run as it is between two steps, with its curves and moments, as soon as the orders before are carried out. The future throws
    /// Error if the run no longer exists.
    std::shared_future<std::shared_ptr<const RunFolder>> contents(std::uint64_t run);
    /// The run was saved to this folder after `step` steps. The future is ready when the newest status says so. From any thread.
    std::future<void> saved(std::uint64_t run, std::int64_t step, std::string folder);
    /// Resumes the run in the file, paused; one that is open already, just as it is there, becomes current. If the file cannot be used, the
    /// current run continues. Its moments at the steps `named` are held. Returns the number of the order, see RunStatus::opened.
    std::uint64_t open(std::filesystem::path path, std::set<std::int64_t> named = {});
    /// The same for an autosave of a run whose own file is `file` ("" for none). The run still counts as unsaved.
    std::uint64_t restore(std::filesystem::path path, std::string file, std::set<std::int64_t> named = {});
    /// These moments of the runs are held from now on (see History::hold()); those of other runs stay as they are.
    void hold(HeldMoments named);
    /// Runs are passed to `keep` from now on.
    void hand_over_to(KeepRun keep);

    /// Brings the report up to date: the newest status and all points up to its step.
    void update(TrainingReport& report);
    /// The moment of exactly this step, of the current or a kept run; without parameters if it is not kept.
    Moment moment(std::uint64_t run, std::int64_t step) const;
    /// The kept moment nearest to `step`; without parameters if the run no longer exists.
    Moment moment_near(std::uint64_t run, std::int64_t step) const;
    /// Waits until all orders are done and no run is running. For tests and programs without a window.
    void wait();

private:
    using Clock = std::chrono::steady_clock;
    struct Open {
        std::uint64_t number;
        std::filesystem::path path;
        bool kept;         ///< an autosave
        std::string file;  ///< of an autosaved run
        std::set<std::int64_t> named;
    };
    using Order = std::function<void(const std::stop_token& job)>;
    /// `interrupts`: cancels the step in progress.
    void queue(Order order, bool interrupts = false);

    /// Executes an order, or the next training step if it is empty, and schedules the step that follows while the run is running.
    void turn(const Order& order, const std::stop_token& job);
    void try_out(const Order& order, const std::stop_token& job);
    void execute(const command::StartTraining& start, const RunSettings& settings, const std::stop_token& job);
    void execute(const command::PauseTraining& pause, const RunSettings& settings, const std::stop_token& job);
    void execute(const command::StepTraining& step, const RunSettings& settings, const std::stop_token& job);
    void execute(const command::ResetTraining& reset, const RunSettings& settings, const std::stop_token& job);
    void execute(const command::RestartTraining& restart, const RunSettings& settings, const std::stop_token& job);
    void execute(const command::BranchRun& branch, const RunSettings& settings, const std::stop_token& job);
    void execute(const command::TrainBoth& both, const RunSettings& settings, const std::stop_token& job);
    void execute(const command::SetRun& set, const RunSettings& settings, const std::stop_token& job);
    void execute(const command::ChooseRun& choose, const RunSettings& settings, const std::stop_token& job);
    void execute(const command::RenameRun& rename, const RunSettings& settings, const std::stop_token& job);
    void execute(const command::ForgetRun& forget, const RunSettings& settings, const std::stop_token& job);
    void execute(const command::SetHistoryBudget& set, const RunSettings& settings, const std::stop_token& job);
    /// Throws Error if the run no longer exists.
    std::shared_ptr<const RunFolder> contents_now(std::uint64_t run);
    /// Follows the run that another process trains in its folder, until it ends or this run is to do something else.
    void follow_folder();
    void stop_following();
    void read_again(std::uint64_t run, bool ended);
    void note_saved(std::uint64_t run, std::int64_t step, const std::string& folder);
    /// The run that is in this file or folder just as it is here; 0 if there is none.
    std::uint64_t run_in(const std::filesystem::path& path) const;
    void resume(const Open& open, const std::stop_token& job);
    void hold_now(const HeldMoments& held);
    /// Keeps the current run, if it has made a step, before another replaces it.
    void keep_run();
    void note_kept_runs();  ///< updates their list for the next publish(): a run that changes places is never in neither
    /// Gives the current run half of what the others leave free of the memory for moments.
    void give_room();
    std::size_t bytes_of_kept_runs() const;
    /// The moments of a run in latest_; null if it no longer exists. Needs the lock.
    const std::vector<Moment>* moments_of(std::uint64_t run) const;
    /// Throws ConfigError as the engine does, and if a run that is to start (`runs`) would never learn.
    std::unique_ptr<LiveRun> new_run(RunSettings settings, bool runs);
    /// `opened`: the notice about a run from a file; "" for a new run. A branch has its `origin`.
    void take_up(std::unique_ptr<LiveRun> run, TrainingPhase phase, const std::stop_token& job, const std::string& opened = "",
                 std::optional<RunOrigin> origin = {});
    /// Takes over the curves of a resumed run, and what its history holds.
    void add_past();
    /// Holds the moment of this evaluation, of the current step or an earlier one, if its loss is the lowest.
    void hold_if_best(const ValidationPoint& point);
    void advance(const std::stop_token& job);
    void adopt(RunSettings settings);
    void train_one(const std::stop_token& job);
    void evaluate_if_due(const std::stop_token& job);
    void evaluate(const std::stop_token& job);
    /// Scores the heads at as many moments as is cheap enough; `always`: at this step in any case.
    void score_heads(bool always, const std::stop_token& job);
    void set_phase(TrainingPhase phase, std::string message = "");
    /// Finished if a stop condition is met, otherwise paused.
    void rest();
    void notice(std::string text, bool refused = false);
    /// Notes that the order to open a run was carried out.
    void note_opened(OpenedRun opened);
    /// Hands the run over if it has changed and the pause has passed or the run is idle, and kept runs that have changed.
    void hand_over();
    /// False if there is not enough memory.
    static bool hand_over(const KeepRun& keep, HandedRun about, LiveRun& run, RunCurves curves);
    void measure_speed();
    void take_parameters();
    /// `newest`: with the current parameters; otherwise with slightly older ones if copying is too expensive now.
    void publish(bool newest);

    const TrainingEngine engine_;
    const std::function<void()> wake_;

    mutable std::mutex mutex_;  // guards the five members below; held only for moves and pointer swaps
    std::shared_ptr<const RunStatus> latest_;
    std::vector<Moment> moments_;                                // moments of the run in latest_
    std::map<std::uint64_t, std::vector<Moment>> kept_moments_;  // moments of the kept runs
    std::vector<RunCurves> curves_;                              // not yet collected by the UI
    KeepRun keep_;                                               // may be empty

    // Only used by the worker:
    std::unique_ptr<LiveRun> run_;
    std::optional<RunSettings> then_;                                              // settings of the run that starts when this one ends
    RunStatus state_;                                                              // the next status to publish
    std::optional<std::map<std::uint64_t, std::vector<Moment>>> shelved_moments_;  // the next kept_moments_, if they have changed
    RunCurves unpublished_;                                                        // points since the last status
    RunCurves published_;                                                          // points published so far
    StayingMoments staying_;
    std::int64_t autosaved_step_ = -1;  // step of the run when last handed over; -1: hand over again
    Clock::time_point hand_over_due_;
    std::int64_t heads_step_ = -1;
    Clock::time_point heads_due_, parameters_due_, publication_due_;
    double busy_ = 0;  // seconds of training so far, including evaluations
    struct Mark {
        double busy = 0;
        std::int64_t step = 0, tokens = 0;
    } mark_;  // start of the speed measurement
    std::int64_t tokens_ = 0;
    std::uint64_t last_run_ = 0;    // number of the newest run
    std::uint64_t last_order_ = 0;  // to open a run; used by the UI's thread
    std::size_t budget_ = kHistoriesBudget;

    /// A kept run and what is known about it.
    struct Shelved {
        std::unique_ptr<LiveRun> run;
        RunStatus state;
        RunCurves published;
        StayingMoments staying;
        std::int64_t heads_step;
        double busy;
        std::int64_t tokens;
        bool handed_over;
    };
    std::vector<Shelved> shelf_;

    std::atomic<bool> ending_ = false;  // no folder is watched any more
    FolderWatch watch_;
    Worker worker_;  // last, because it uses the members above
};

}  // namespace attn::app
