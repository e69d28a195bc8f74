#pragma once
/// The worker that trains.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "app/session/training/live_run.hpp"
#include "app/session/training/training_report.hpp"

namespace attn::app {

/// Seconds of training between two such calls; a run that rests is handed over at once.
inline constexpr std::chrono::milliseconds kHandOverPause{4000};

/// One thread, which owns the run under way. It carries out orders in their order, between two steps; a new run abandons the step under
/// way. It publishes a snapshot at every change of phase and else at most 30 times a second, with all points since the last one. All
/// methods are for one thread (the UI's).
class Trainer {
public:
    /// `wake` is called from the worker after every publication.
    Trainer(TrainingEngine engine, std::function<void()> wake);
    ~Trainer();  ///< abandons the step under way
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;

    /// Goes on with the run under way as `settings` say, as far as they apply to it; begins one when there is none.
    void start(RunSettings settings);
    void pause();
    /// One step, also of a run that is finished, then a pause. None where its learning rate is 0: the message says so, as start() does for
    /// a run whose remaining rates are all 0.
    void step(RunSettings settings);
    void reset(RunSettings settings);    ///< a new run, paused
    void restart(RunSettings settings);  ///< a new run, running
    /// Runs `first` and, when it has come to its end, `second`, unless another run is begun meanwhile.
    void chain(RunSettings first, RunSettings second);
    void apply(RunSettings settings);  ///< to the run under way, but for a mistake: that is made from a run's first step on
    void save(std::filesystem::path path);
    /// Takes up the run in the file, paused; the one under way goes on when the file cannot be used. `kept`: the file is an autosave, so
    /// the run still counts as unsaved.
    void open(std::filesystem::path path, bool kept = false);
    /// Takes up a run that was kept, paused where it was running; the one under way is kept in its place.
    void choose(std::uint64_t run);
    /// Gives up a run that was kept.
    void forget(std::uint64_t run);
    /// From now on runs are handed over to `keep`.
    void hand_over_to(KeepRun keep);

    /// Brings the report up to date: the newest snapshot, and every point up to its step.
    void update(TrainingReport& report);
    /// The kept moment nearest to `step` of this run, the one under way or another; without parameters when the run is gone.
    Moment moment(std::uint64_t run, std::int64_t step) const;
    /// Waits until all orders are carried out and no run is running. For tests and programs without a window.
    void wait();

private:
    using Clock = std::chrono::steady_clock;
    struct Start {
        RunSettings settings;
    };
    struct Pause {};
    struct OneStep {
        RunSettings settings;
    };
    struct NewRun {
        RunSettings settings;
        bool running;
    };
    struct Chain {
        RunSettings first, second;
    };
    struct Apply {
        RunSettings settings;
    };
    struct Save {
        std::filesystem::path path;
    };
    struct Open {
        std::filesystem::path path;
        bool kept;
    };
    struct Choose {
        std::uint64_t run;
    };
    struct Forget {
        std::uint64_t run;
    };
    using Order = std::variant<Start, Pause, OneStep, NewRun, Chain, Apply, Save, Open, Choose, Forget>;
    void send(Order order);

    void work(const std::stop_token& stop);
    /// Carries out `order` if there is one, else goes on training.
    void turn(const std::optional<Order>& order, const std::stop_token& job);
    void carry_out(const Start& start, const std::stop_token& job);
    void carry_out(const Pause& pause, const std::stop_token& job);
    void carry_out(const OneStep& step, const std::stop_token& job);
    void carry_out(const NewRun& fresh, const std::stop_token& job);
    void carry_out(const Chain& chain, const std::stop_token& job);
    void carry_out(const Apply& apply, const std::stop_token& job);
    void carry_out(const Save& save, const std::stop_token& job);
    void carry_out(const Open& open, const std::stop_token& job);
    void carry_out(const Choose& choose, const std::stop_token& job);
    void carry_out(const Forget& forget, const std::stop_token& job);
    /// Keeps the run under way, if it has made a step, before another takes its place.
    void keep_run();
    /// Shares the memory for moments among the kept runs, and notes what there is of them.
    void note_kept_runs();
    /// Throws ConfigError as the engine does, and when it `runs` without ever learning.
    std::unique_ptr<LiveRun> new_run(RunSettings settings, bool runs);
    void take_up(std::unique_ptr<LiveRun> run, TrainingPhase phase, bool from_file, const std::stop_token& job);
    /// What a run from a folder has told before.
    void add_past();
    void advance(const std::stop_token& job);
    void adopt(RunSettings settings);
    void train_one(const std::stop_token& job);
    void evaluate_if_due(const std::stop_token& job);
    /// Of moments that the history keeps, as many as cost little; `always` those of this step.
    void score_heads(bool always, const std::stop_token& job);
    void set_phase(TrainingPhase phase, std::string message = "");
    void notice(std::string text, bool refused = false);
    /// When the run has changed since the last time, and it is time again or the run rests.
    void hand_over();
    void measure_speed();
    void take_parameters();
    /// `newest`: with the parameters as they are now, else with those of a few steps ago when copying them would cost too much.
    void publish(bool newest);

    const TrainingEngine engine_;
    const std::function<void()> wake_;

    mutable std::mutex mutex_;  // guards the eight below; held for moves and pointer swaps only
    std::condition_variable_any ordered_;
    std::condition_variable resting_;
    std::deque<Order> orders_;
    std::stop_source job_;  // of what is under way
    bool rests_ = true;     // nothing is ordered, under way or running
    std::shared_ptr<const TrainingSnapshot> latest_;
    std::vector<Moment> moments_;                                // of the run of latest_, as long as its moments
    std::map<std::uint64_t, std::vector<Moment>> kept_moments_;  // of the kept runs
    std::vector<RunCurves> curves_;                              // what the UI has not taken yet
    KeepRun keep_;                                               // none: nobody keeps it

    // The worker's own.
    std::unique_ptr<LiveRun> run_;
    std::optional<RunSettings> then_;  // of the run that begins when this one has ended
    TrainingSnapshot state_;           // as it is to be published next
    RunCurves fresh_;                  // points since the last publication
    RunCurves told_;                   // the points of the run that are published
    std::int64_t handed_step_ = -1;    // of the run as it was handed over last; -1: it is to be
    Clock::time_point hand_over_due_;
    std::int64_t heads_step_ = -1;
    Clock::time_point heads_due_, parameters_due_, publication_due_;
    double busy_ = 0;  // seconds of training so far, evaluations included
    struct Mark {
        double busy = 0;
        std::int64_t step = 0, tokens = 0;
    } mark_;  // from where speed is measured
    std::int64_t tokens_ = 0;
    std::uint64_t last_run_ = 0;  // number of the newest run

    /// A run that waits to be taken up again, with what is known of it.
    struct Shelved {
        std::unique_ptr<LiveRun> run;
        TrainingSnapshot state;
        RunCurves told;
        std::int64_t handed_step, heads_step;
        double busy;
        std::int64_t tokens;
    };
    std::vector<Shelved> shelf_;

    std::jthread worker_;  // last: it uses everything above
};

}  // namespace attn::app
