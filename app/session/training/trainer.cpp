#include "app/session/training/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "app/session/threads/scarce_memory.hpp"
#include "engine/io/file_error.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"
#include "engine/train/long_curve.hpp"
#include "engine/train/moment_steps.hpp"
#include "engine/train/run_folder.hpp"

namespace attn::app {
namespace {

constexpr std::chrono::milliseconds kPublicationPause{33};
/// Scoring heads takes at most 1 / kHeadsShare of the training time.
constexpr int kHeadsShare = 30;
/// Copying parameters for display takes at most 1 / kCopiesShare of the training time.
constexpr int kCopiesShare = 50;
constexpr double kSpeedSeconds = 0.5;  // averaging window of the training speed

template <class T>
void append(std::vector<T>& all, std::vector<T>& more) {
    for (T& point : more) add_point(all, std::move(point));
    more.clear();
}

/// Whether the last change only takes back another one at its step, so that the settings before it stay.
bool is_put_back(const RunCurves& run) {
    const std::vector<SettingsChange>& changes = run.changes;
    const RunSettings& before = changes.size() < 2 ? run.settings : changes[changes.size() - 2].settings;
    return same_but_for_end(changes.back().settings, before);
}

/// `whole`: all changes of the run are in `all`, so that what was set before each is known.
void add_changes(RunCurves& all, const std::vector<SettingsChange>& more, bool whole) {
    for (const SettingsChange& change : more) {
        if (!all.changes.empty() && all.changes.back().step == change.step) all.changes.pop_back();
        all.changes.push_back(change);
        if (whole && is_put_back(all)) all.changes.pop_back();
    }
}

void append(RunCurves& all, RunCurves& more, bool whole) {
    add_changes(all, more.changes, whole);
    more.changes.clear();
    if (more.losses.empty() && more.validations.empty() && more.heads.empty()) return;
    append(all.losses, more.losses);
    append(all.validations, more.validations);
    append(all.heads, more.heads);
    ++all.serial;
}

template <class T>
void add_copies(std::vector<T>& all, const std::vector<T>& more) {
    for (const T& point : more) add_point(all, point);
}

void add_copies(RunCurves& all, const RunCurves& more) {
    add_changes(all, more.changes, true);
    add_copies(all.losses, more.losses);
    add_copies(all.validations, more.validations);
    add_copies(all.heads, more.heads);
}

/// The curves of the same run in `runs`; appended if missing.
RunCurves& curves_of(std::vector<RunCurves>& runs, const RunCurves& run) {
    const auto found = std::find_if(runs.begin(), runs.end(), [&](const RunCurves& other) { return other.run == run.run; });
    if (found != runs.end()) return *found;
    RunCurves& begun = runs.emplace_back();
    begun.run = run.run;
    begun.settings = run.settings;
    begun.origin = run.origin;
    return begun;
}

/// Sorts by age, but puts the current run last.
void put_in_order(std::vector<RunCurves>& runs, std::uint64_t under_way) {
    std::stable_sort(runs.begin(), runs.end(), [&](const RunCurves& a, const RunCurves& b) {
        return std::pair(a.run == under_way, a.run) < std::pair(b.run == under_way, b.run);
    });
}

/// Whether the run was replaced before its first step and is gone. A branch or a plain checkpoint that is kept has no losses either.
bool is_abandoned(const RunCurves& run, const RunStatus& now) {
    const auto is_it = [&](const KeptRun& kept) { return kept.run == run.run; };
    return run.losses.empty() && run.run != now.run && std::none_of(now.kept.begin(), now.kept.end(), is_it);
}

}  // namespace

std::optional<FileStamp> stamp_of_run(const std::filesystem::path& path) {
    std::error_code unknown;
    return stamp_of(std::filesystem::is_directory(path, unknown) ? path / kCheckpointName : path);
}

Trainer::Trainer(TrainingEngine engine, std::function<void()> wake)
    : engine_(std::move(engine)), wake_(std::move(wake)), latest_(std::make_shared<const RunStatus>()) {}

Trainer::~Trainer() {
    ending_ = true;
    watch_.end();  // it sends orders to the worker, which ends first
}

void Trainer::send(TrainerCommand command, RunSettings settings) {
    const bool is_new = std::holds_alternative<command::ResetTraining>(command) ||
                        std::holds_alternative<command::RestartTraining>(command) || std::holds_alternative<command::BranchRun>(command) ||
                        std::holds_alternative<command::TrainBoth>(command);
    auto order = [this, command = std::move(command), settings = std::move(settings)](const std::stop_token& job) {
        std::visit([&](const auto& what) { execute(what, settings, job); }, command);
    };
    queue(std::move(order), is_new);
}

void Trainer::queue(Order order, bool interrupts) {
    auto job = [this, order = std::move(order)](const std::stop_token& stop) { turn(order, stop); };
    if (interrupts) worker_.interrupt(std::move(job));
    else worker_.send(std::move(job));
}

std::future<void> Trainer::saved(std::uint64_t run, std::int64_t step, std::string folder) {
    auto promise = std::make_shared<std::promise<void>>();
    std::future<void> done = promise->get_future();
    queue([this, run, step, folder = std::move(folder), promise = std::move(promise)](const std::stop_token&) {
        note_saved(run, step, folder);
        promise->set_value();
    });
    return done;
}

void Trainer::hold(HeldMoments named) {
    queue([this, named = std::move(named)](const std::stop_token&) { hold_now(named); });
}

std::uint64_t Trainer::open(std::filesystem::path path, std::set<std::int64_t> named) {
    queue([this, open = Open{++last_order_, std::move(path), false, "", std::move(named)}](const std::stop_token& job) {
        resume(open, job);
    });
    return last_order_;
}

std::uint64_t Trainer::restore(std::filesystem::path path, std::string file, std::set<std::int64_t> named) {
    queue([this, open = Open{++last_order_, std::move(path), true, std::move(file), std::move(named)}](const std::stop_token& job) {
        resume(open, job);
    });
    return last_order_;
}

std::shared_future<std::shared_ptr<const RunFolder>> Trainer::contents(std::uint64_t run) {
    auto promise = std::make_shared<std::promise<std::shared_ptr<const RunFolder>>>();
    std::shared_future<std::shared_ptr<const RunFolder>> future = promise->get_future().share();
    queue([this, run, promise = std::move(promise)](const std::stop_token&) {
        try {
            promise->set_value(contents_now(run));
        } catch (const std::exception&) {
            promise->set_exception(std::current_exception());
        }
    });
    return future;
}

void Trainer::hand_over_to(KeepRun keep) {
    const std::lock_guard lock(mutex_);
    keep_ = std::move(keep);
}

void Trainer::update(TrainingReport& report) {
    std::vector<RunCurves> curves;
    {
        const std::lock_guard lock(mutex_);
        report.status = latest_;
        curves.swap(curves_);
    }
    for (RunCurves& more : curves) {
        if (!report.runs.empty() && report.runs.back().run != more.run && is_abandoned(report.runs.back(), *report.status))
            report.runs.pop_back();
        append(curves_of(report.runs, more), more, true);
    }
    put_in_order(report.runs, report.status->run);
    for (RunCurves& run : report.runs) {
        if (run.run == report.status->run) run.name = report.status->name;
        for (const KeptRun& kept : report.status->kept)
            if (kept.run == run.run) run.name = kept.name;
    }
}

const std::vector<Moment>* Trainer::moments_of(std::uint64_t run) const {
    if (latest_->run == run) return &moments_;
    const auto kept = kept_moments_.find(run);
    return kept == kept_moments_.end() ? nullptr : &kept->second;
}

Moment Trainer::moment(std::uint64_t run, std::int64_t step) const {
    const std::lock_guard lock(mutex_);
    const std::vector<Moment>* moments = moments_of(run);
    if (moments == nullptr) return {};
    const auto is_before = [](const Moment& moment, std::int64_t at) { return moment.step < at; };
    const auto found = std::lower_bound(moments->begin(), moments->end(), step, is_before);
    return found != moments->end() && found->step == step ? *found : Moment{};
}

Moment Trainer::moment_near(std::uint64_t run, std::int64_t step) const {
    const std::lock_guard lock(mutex_);
    const std::vector<Moment>* moments = moments_of(run);
    if (moments == nullptr || moments->empty()) return {};
    std::vector<std::int64_t> steps;
    for (const Moment& moment : *moments) steps.push_back(moment.step);
    return (*moments)[nearest_moment(steps, step)];
}

void Trainer::wait() { worker_.wait(); }

void Trainer::turn(const Order& order, const std::stop_token& job) {
    if (!order && state_.phase != TrainingPhase::Running) return;
    try_out(order, job);
    hand_over();
    if (state_.phase == TrainingPhase::Running) worker_.send_later({}, [this](const std::stop_token& stop) { turn({}, stop); });
}

void Trainer::try_out(const Order& order, const std::stop_token& job) {
    const auto begin = Clock::now();
    try {
        if (order) {
            order(job);
        } else {
            advance(job);
            busy_ += std::chrono::duration<double>(Clock::now() - begin).count();
            if (Clock::now() >= publication_due_) publish(false);
        }
    } catch (const Cancelled&) {
        // Cancelled by a new run or at shutdown.
    } catch (const ConfigError& error) {
        // The order is invalid; the current run continues unchanged.
        when_memory_allows([&] {
            if (order && run_ != nullptr) notice(error.what(), true);
            else set_phase(TrainingPhase::Failed, error.what());
        });
    } catch (const std::exception& error) {
        const std::string message = message_of(error);
        when_memory_allows([&] { set_phase(TrainingPhase::Failed, message); });
    }
}

std::unique_ptr<LiveRun> Trainer::new_run(RunSettings settings, bool runs) {
    settings.train.schedule.continued.reset();  // set only in continued runs
    if (const std::string idle = learns_nothing(settings, 0); runs && !idle.empty()) throw ConfigError(idle);
    return engine_.start(settings);
}

void Trainer::execute(const command::StartTraining&, const RunSettings& settings, const std::stop_token& job) {
    if (run_ == nullptr) return take_up(new_run(settings, true), TrainingPhase::Running, job);
    stop_following();
    adopt(settings);
    if (const std::string finished = run_->finished(); !finished.empty()) return set_phase(TrainingPhase::Finished, finished);
    const std::string idle = learns_nothing(run_->settings(), run_->steps());
    set_phase(idle.empty() ? TrainingPhase::Running : TrainingPhase::Paused, idle);
}

void Trainer::execute(const command::PauseTraining&, const RunSettings&, const std::stop_token& job) {
    if (state_.phase != TrainingPhase::Running) return;
    state_.phase = TrainingPhase::Paused;
    score_heads(true, job);
    publish(true);
}

void Trainer::execute(const command::StepTraining&, const RunSettings& settings, const std::stop_token& job) {
    stop_following();  // a followed run takes over no settings
    if (run_ == nullptr) take_up(new_run(settings, false), TrainingPhase::Paused, job);
    else adopt(settings);
    state_.phase = TrainingPhase::Paused;
    RunSettings next = run_->settings();
    next.stop.steps = run_->steps() + 1;
    if (const std::string idle = learns_nothing(next, run_->steps()); !idle.empty()) {
        const std::string finished = run_->finished();
        if (finished.empty()) return set_phase(TrainingPhase::Paused, idle);
        set_phase(TrainingPhase::Finished, finished);
        return notice(idle, true);
    }
    train_one(job);
    score_heads(true, job);
    rest();
}

void Trainer::execute(const command::ResetTraining&, const RunSettings& settings, const std::stop_token& job) {
    take_up(new_run(settings, false), TrainingPhase::Paused, job);
}

void Trainer::execute(const command::RestartTraining&, const RunSettings& settings, const std::stop_token& job) {
    take_up(new_run(settings, true), TrainingPhase::Running, job);
}

void Trainer::execute(const command::BranchRun& branch, const RunSettings& settings, const std::stop_token& job) {
    if (run_ == nullptr) return;
    Checkpoint from = run_->checkpoint();
    if (branch.step && *branch.step < from.steps) {
        const std::vector<Moment>& moments = run_->history().moments();
        std::vector<std::int64_t> steps;
        for (const Moment& moment : moments) steps.push_back(moment.step);
        const Moment& moment = moments[nearest_moment(steps, *branch.step)];
        from.steps = moment.step;
        from.parameters = moment.parameters;
        from.plateau = {};
        // Of earlier moments only the parameters are kept: the optimizer averages gradients anew.
        std::fill(from.first_moments.begin(), from.first_moments.end(), 0.F);
        std::fill(from.second_moments.begin(), from.second_moments.end(), 0.F);
    }
    const RunOrigin origin{state_.run, from.steps, published_.name};
    take_up(engine_.branch(from), TrainingPhase::Paused, job, "", origin);
    adopt(settings);
    rest();
}

// The correct run goes first, so that the broken one can be watched against its curve.
void Trainer::execute(const command::TrainBoth&, const RunSettings& settings, const std::stop_token& job) {
    RunSettings right = settings;
    right.train.forward.mistake = Mistake::None;
    take_up(new_run(right, true), TrainingPhase::Running, job);
    then_ = settings;
    state_.then = then_->train.forward.mistake;
    state_.paired = true;
    publish(true);
}

void Trainer::execute(const command::SetRun& set, const RunSettings&, const std::stop_token&) {
    if (run_ == nullptr) return;
    adopt(set.run);
    // The stop conditions may have changed. Otherwise a paused run keeps its message.
    const bool paused = state_.phase == TrainingPhase::Paused, over = state_.phase == TrainingPhase::Finished;
    if (over || (paused && !run_->finished().empty())) rest();
    else publish(true);
}

void Trainer::rest() {
    const std::string finished = run_->finished();
    set_phase(finished.empty() ? TrainingPhase::Paused : TrainingPhase::Finished, finished);
}

/// The mistake of a run never changes. A paired run does not change at all, since any other difference would be attributed to the mistake.
/// Nor does a run that another process trains, or one while the settings are those of another task, which waits to be started: its length
/// and rate are not meant for this one.
void Trainer::adopt(RunSettings settings) {
    if (state_.paired || state_.followed || settings.task.kind != run_->settings().task.kind) return;
    settings.train.forward.mistake = run_->settings().train.forward.mistake;
    const RunSettings before = run_->settings();
    run_->apply(settings);
    if (!same_but_for_end(run_->settings(), before)) unpublished_.changes.push_back({run_->steps(), run_->settings()});
}

namespace {

/// The whole run as it is now.
std::shared_ptr<const RunFolder> contents_of(LiveRun& run, RunCurves curves) {
    run.keep();
    Checkpoint checkpoint = run.checkpoint();
    checkpoint.name = curves.name;
    checkpoint.course = {curves.settings, curves.origin, std::move(curves.changes)};
    return std::make_shared<const RunFolder>(RunFolder{std::move(checkpoint), std::move(curves.losses), std::move(curves.validations),
                                                       std::move(curves.heads), run.history().moments()});
}

}  // namespace

std::shared_ptr<const RunFolder> Trainer::contents_now(std::uint64_t run) {
    if (run == state_.run && run_ != nullptr) {
        RunCurves points = published_;
        add_copies(points, unpublished_);
        return contents_of(*run_, std::move(points));
    }
    for (Shelved& one : shelf_)
        if (one.state.run == run) return contents_of(*one.run, one.published);
    throw Error("this training run no longer exists");
}

void Trainer::note_saved(std::uint64_t run, std::int64_t step, const std::string& folder) {
    const auto note = [&](RunStatus& state) {
        if (state.run != run) return false;
        state.saved_step = step;
        state.file = folder;
        state.stamp = stamp_of_run(folder);
        return true;
    };
    if (note(state_)) autosaved_step_ = -1;
    for (Shelved& one : shelf_)
        if (note(one.state)) one.handed_over = false;
    note_kept_runs();
    publish(false);
}

void Trainer::note_opened(OpenedRun opened) {
    constexpr std::size_t kMostNoted = 64;
    state_.opened.push_back(std::move(opened));
    if (state_.opened.size() > kMostNoted) state_.opened.erase(state_.opened.begin());
}

std::uint64_t Trainer::run_in(const std::filesystem::path& path) const {
    const std::optional<FileStamp> stamp = stamp_of_run(path);
    const auto is_it = [&](const RunStatus& state, const LiveRun& run) {
        const bool as_there = stamp && state.stamp == stamp && state.saved_step == run.steps();
        return state.file == path.native() && (state.followed || as_there);
    };
    if (run_ != nullptr && is_it(state_, *run_)) return state_.run;
    const auto found = std::find_if(shelf_.begin(), shelf_.end(), [&](const Shelved& one) { return is_it(one.state, *one.run); });
    return found == shelf_.end() ? 0 : found->state.run;
}

void Trainer::resume(const Open& open, const std::stop_token& job) {
    const std::filesystem::path path = full_path(open.path);
    if (const std::uint64_t there = open.kept ? 0 : run_in(path); there != 0) {
        note_opened({open.number, there});
        execute(command::ChooseRun{there}, {}, job);
        return notice(fmt::format("{} is open already: {}.", escaped(path.native(), 0),
                                  state_.name.empty() ? fmt::format("run {}", there) : state_.name));
    }
    const std::optional<FileStamp> stamp = stamp_of_run(path);  // before it is read: it may be written meanwhile
    std::unique_ptr<LiveRun> run;
    const auto refuse = [&](const std::string& why) {
        note_opened({open.number, 0, why});
        notice(why, true);
    };
    try {
        run = engine_.open(open.path);
    } catch (const std::bad_alloc&) {
        return refuse("there is not enough memory to open the run");
    } catch (const ConfigError& error) {
        return refuse(escaped(open.path.native(), 0) + ": " + error.what());
    } catch (const std::exception& error) {
        return refuse(error.what());
    }
    std::vector<Moment> named;
    for (const Moment& moment : run->history().moments())
        if (open.named.contains(moment.step)) named.push_back(moment);
    run->hold(named);
    // Published together with the run, so that later notices about the new run follow it.
    const std::string told = open.kept ? fmt::format("Restored step {}.", run->steps())
                                       : fmt::format("Opened {} at step {}.", escaped(open.path.native(), 0), run->steps());
    note_opened({open.number, last_run_ + 1});
    take_up(std::move(run), TrainingPhase::Paused, job, told);
    if (open.kept) state_.saved_step = 0;
    state_.file = open.kept ? open.file : path.string();
    if (!open.kept) state_.stamp = stamp;
    if (!open.kept) follow_folder();
    rest();
}

void Trainer::take_up(std::unique_ptr<LiveRun> run, TrainingPhase phase, const std::stop_token& job, const std::string& opened,
                      std::optional<RunOrigin> origin) {
    keep_run();
    run_ = std::move(run);
    give_room();
    then_.reset();
    RunStatus state;
    state.serial = state_.serial;
    state.run = ++last_run_;
    state.kept = std::move(state_.kept);
    state.opened = std::move(state_.opened);
    state.notice = opened.empty() ? state_.notice : opened;
    state.notices = state_.notices + (opened.empty() ? 0 : 1);
    state.from_file = !opened.empty();
    state.saved_step = origin && run_->steps() > 0 ? -1 : run_->steps();  // no file has the branch
    state.vocabulary = run_->tokenizer().vocabulary();
    state.tokenizer = run_->tokenizer().kind();
    state.special_tokens = run_->tokenizer().has_special_tokens();
    state.probe = run_->probe();
    state.probe_source = run_->probe_source();
    state.held_out = run_->held_out();
    state_ = std::move(state);
    unpublished_ = {};
    unpublished_.run = state_.run;
    unpublished_.settings = run_->settings();
    unpublished_.origin = origin;
    autosaved_step_ = -1;
    add_past();
    heads_step_ = -1;
    heads_due_ = {};
    busy_ = unpublished_.losses.empty() ? 0 : unpublished_.losses.back().seconds;
    tokens_ = unpublished_.losses.empty() ? 0 : unpublished_.losses.back().tokens;
    mark_ = {busy_, run_->steps(), tokens_};
    set_phase(phase);
    if (origin) evaluate(job);
    else evaluate_if_due(job);
    score_heads(true, job);
    publish(true);
}

void Trainer::add_past() {
    PastPoints past = run_->take_past();
    // Points for the current step are dropped, because they are measured again at once.
    const std::int64_t now = run_->steps();
    if (run_->evaluation_due()) std::erase_if(past.validations, [now](const ValidationPoint& point) { return point.step >= now; });
    std::erase_if(past.heads, [now](const HeadPoint& point) { return point.step >= now; });
    unpublished_.losses = std::move(past.losses);
    unpublished_.validations = std::move(past.validations);
    unpublished_.heads = std::move(past.heads);
    if (past.course) {
        unpublished_.settings = std::move(past.course->begun);
        unpublished_.origin = std::move(past.course->origin);
        unpublished_.changes = std::move(past.course->changes);
    }
    published_ = {};
    published_.run = unpublished_.run;
    published_.name = std::move(past.name);
    published_.settings = unpublished_.settings;
    published_.origin = unpublished_.origin;
    staying_ = {};
    for (const Moment& moment : run_->history().moments())
        if (moment.held) staying_.named.push_back(moment);
    for (const ValidationPoint& point : unpublished_.validations) hold_if_best(point);
}

void Trainer::advance(const std::stop_token& job) {
    evaluate_if_due(job);  // pending if it was interrupted by a new run that could not be created
    train_one(job);
    const std::string finished = run_->finished();
    score_heads(!finished.empty(), job);
    if (finished.empty()) return;
    if (!then_) return set_phase(TrainingPhase::Finished, finished);
    take_up(new_run(*std::exchange(then_, {}), true), TrainingPhase::Running, job);
    state_.paired = true;
    publish(true);
}

void Trainer::train_one(const std::stop_token& job) {
    unpublished_.losses.push_back(run_->step(job));
    tokens_ = unpublished_.losses.back().tokens;
    evaluate_if_due(job);
}

void Trainer::evaluate_if_due(const std::stop_token& job) {
    if (run_->evaluation_due()) evaluate(job);
}

void Trainer::evaluate(const std::stop_token& job) {
    unpublished_.validations.push_back(run_->evaluate(job));
    run_->keep();
    hold_if_best(unpublished_.validations.back());
}

void Trainer::hold_if_best(const ValidationPoint& point) {
    if (!(point.loss < staying_.lowest)) return;
    staying_.lowest = point.loss;
    staying_.best = {};
    for (const Moment& moment : run_->history().moments())
        if (moment.step == point.step) staying_.best = moment;
    run_->hold(staying_.all());
}

void Trainer::score_heads(bool always, const std::stop_token& job) {
    if (heads_step_ == run_->steps()) return;
    const auto begin = Clock::now();
    if (!always && (begin < heads_due_ || run_->history().moments().back().step != run_->steps())) return;
    HeadPoint point = run_->score_heads(run_->keep(), job);
    heads_step_ = point.step;
    unpublished_.heads.push_back(std::move(point));
    const auto end = Clock::now();
    heads_due_ = end + kHeadsShare * (end - begin);
}

void Trainer::set_phase(TrainingPhase phase, std::string message) {
    state_.phase = phase;
    state_.message = std::move(message);
    if (phase == TrainingPhase::Finished || phase == TrainingPhase::Failed) state_.paired = false;
    publish(true);
}

void Trainer::notice(std::string text, bool refused) {
    state_.notice = std::move(text);
    state_.refused = refused;
    ++state_.notices;
    publish(true);
}

void Trainer::hand_over() {
    KeepRun keep;
    {
        const std::lock_guard lock(mutex_);
        keep = keep_;
    }
    if (!keep) return;
    for (Shelved& one : shelf_) {
        if (one.handed_over) continue;
        const bool unsaved = one.state.saved_step != one.run->steps();
        one.handed_over = hand_over(keep, {one.state.run, nullptr, one.state.file, unsaved, false}, *one.run, one.published);
    }
    if (run_ == nullptr || autosaved_step_ == run_->steps()) return;
    if (state_.phase == TrainingPhase::Running && autosaved_step_ >= 0 && Clock::now() < hand_over_due_) return;
    hand_over_due_ = Clock::now() + kHandOverPause;
    RunCurves points = published_;
    add_copies(points, unpublished_);
    const bool unsaved = state_.saved_step != run_->steps();
    if (hand_over(keep, {state_.run, nullptr, state_.file, unsaved, true}, *run_, std::move(points))) autosaved_step_ = run_->steps();
}

bool Trainer::hand_over(const KeepRun& keep, HandedRun about, LiveRun& run, RunCurves curves) {
    try {
        // A saved run need not be copied.
        if (about.unsaved || about.file.empty()) about.contents = contents_of(run, std::move(curves));
        keep(std::move(about));
        return true;
    } catch (const std::bad_alloc&) {
        return false;  // the previously saved state is kept; retried after the pause
    }
}

void Trainer::measure_speed() {
    const double seconds = busy_ - mark_.busy;
    const std::int64_t steps = run_->steps() - mark_.step;
    if (steps > 0 && seconds > 0 && (seconds >= kSpeedSeconds || state_.ms_per_step <= 0)) {
        state_.ms_per_step = 1000 * seconds / static_cast<double>(steps);
        state_.tokens_per_second = static_cast<double>(tokens_ - mark_.tokens) / seconds;
    }
    if (seconds >= kSpeedSeconds) mark_ = {busy_, run_->steps(), tokens_};
    state_.seconds = busy_;
    const std::int64_t last = run_->settings().stop.steps;
    const bool known = last > 0 && state_.ms_per_step > 0;
    state_.seconds_left = known ? static_cast<double>(std::max<std::int64_t>(last - run_->steps(), 0)) * state_.ms_per_step / 1000 : -1;
}

void Trainer::take_parameters() {
    const auto begin = Clock::now();
    try {
        const Moment newest = run_->keep();
        state_.parameters = newest.parameters;
        state_.parameters_step = newest.step;
    } catch (const std::bad_alloc&) {
        // Shows an earlier moment. If memory stays short, the next training step will report it.
    }
    const auto end = Clock::now();
    parameters_due_ = end + kCopiesShare * (end - begin);
}

void Trainer::publish(bool newest) {
    std::vector<Moment> moments;
    if (run_ != nullptr) {
        if (newest || Clock::now() >= parameters_due_) take_parameters();
        state_.settings = run_->settings();
        state_.name = published_.name;
        state_.step = run_->steps();
        moments = run_->history().moments();
        state_.moments.clear();
        for (const Moment& moment : moments) state_.moments.push_back(moment.step);
        state_.history_bytes = run_->history().bytes();
        state_.history_budget = run_->history().budget();
        state_.histories_bytes = state_.history_bytes + bytes_of_kept_runs();
        measure_speed();
    }
    state_.histories_budget = budget_;
    ++state_.serial;
    add_copies(published_, unpublished_);
    // The old values are destroyed at the end, after the lock is released and the window notified.
    auto status = std::make_shared<const RunStatus>(state_);
    {
        const std::lock_guard lock(mutex_);
        latest_.swap(status);
        moments_.swap(moments);
        if (shelved_moments_) kept_moments_.swap(*shelved_moments_);
        if (run_ != nullptr) append(curves_of(curves_, unpublished_), unpublished_, false);
    }
    shelved_moments_.reset();
    // Measured from the due time; otherwise steps slightly shorter than the pause would be published only every second time.
    publication_due_ = std::max(publication_due_ + kPublicationPause, Clock::now());
    wake_();
}

}  // namespace attn::app
