/// Keeping replaced runs: trained models are never discarded unasked.

#include <algorithm>
#include <utility>

#include "app/session/training/trainer.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

std::vector<Moment> StayingMoments::all() const {
    std::vector<Moment> moments = named;
    if (best.parameters != nullptr) moments.push_back(best);
    return moments;
}

void Trainer::keep_run() {
    if (run_ == nullptr) return;
    stop_following();
    publish(false);  // publishes its last points
    if (run_->steps() == 0) return;
    if (state_.phase == TrainingPhase::Running) state_.phase = TrainingPhase::Paused;
    state_.then = Mistake::None;
    state_.paired = false;
    std::vector<KeptRun> kept = std::exchange(state_.kept, {});
    RunStatus state = state_;
    state_.kept = std::move(kept);
    shelf_.push_back({std::move(run_), std::move(state), std::exchange(published_, {}), std::exchange(staying_, {}), heads_step_, busy_,
                      tokens_, false});
    note_kept_runs();
}

void Trainer::note_kept_runs() {
    std::sort(shelf_.begin(), shelf_.end(), [](const Shelved& a, const Shelved& b) { return a.state.run < b.state.run; });
    std::vector<KeptRun> kept;
    std::map<std::uint64_t, std::vector<Moment>> moments;
    for (Shelved& one : shelf_) {
        const History& history = one.run->history();
        kept.push_back({one.state.run, one.run->settings(), one.state.phase, one.run->steps(), one.state.saved_step,
                        history.moments().size(), history.bytes(), one.state.file, one.published.name});
        moments[one.state.run] = history.moments();
    }
    state_.kept = std::move(kept);
    shelved_moments_ = std::move(moments);
}

std::size_t Trainer::bytes_of_kept_runs() const {
    std::size_t bytes = 0;
    for (const Shelved& one : shelf_) bytes += one.run->history().bytes();
    return bytes;
}

// What the other runs keep is never taken from them, nor from this one what it keeps already.
void Trainer::give_room() {
    if (run_ == nullptr) return;
    const std::size_t others = bytes_of_kept_runs(), free = budget_ - std::min(budget_, others);
    run_->limit_history(std::max(free / 2, std::min(free, run_->history().bytes())));
}

void Trainer::execute(const command::ChooseRun& choose, const RunSettings&, const std::stop_token&) {
    const auto is_chosen = [&](const Shelved& one) { return one.state.run == choose.run; };
    const auto found = std::find_if(shelf_.begin(), shelf_.end(), is_chosen);
    if (found == shelf_.end()) return;
    Shelved chosen = std::move(*found);
    shelf_.erase(found);
    keep_run();
    run_ = std::move(chosen.run);
    give_room();
    then_.reset();
    chosen.state.serial = state_.serial;
    chosen.state.opened = std::move(state_.opened);
    chosen.state.notice = std::move(state_.notice);
    chosen.state.notices = state_.notices;
    chosen.state.refused = state_.refused;
    state_ = std::move(chosen.state);
    unpublished_ = {};
    unpublished_.run = state_.run;
    unpublished_.settings = chosen.published.settings;
    published_ = std::move(chosen.published);
    staying_ = std::move(chosen.staying);
    autosaved_step_ = -1;  // the autosave keeps the current run
    heads_step_ = chosen.heads_step;
    heads_due_ = {};
    busy_ = chosen.busy;
    tokens_ = chosen.tokens;
    mark_ = {busy_, run_->steps(), tokens_};
    note_kept_runs();
    publish(true);
}

void Trainer::execute(const command::RenameRun& rename, const RunSettings&, const std::stop_token&) {
    const auto give = [&](RunStatus& state, RunCurves& curves) {
        if (state.run != rename.run || curves.name == rename.name) return false;
        curves.name = rename.name;
        if (state.saved_step > 0) state.saved_step = -1;  // the file has another name
        return true;
    };
    if (give(state_, published_)) autosaved_step_ = -1;
    for (Shelved& one : shelf_)
        if (give(one.state, one.published)) one.handed_over = false;
    note_kept_runs();
    publish(false);
}

void Trainer::execute(const command::ForgetRun& forget, const RunSettings&, const std::stop_token&) {
    std::erase_if(shelf_, [&](const Shelved& one) { return one.state.run == forget.run; });
    note_kept_runs();
    give_room();
    publish(false);
    KeepRun keep;
    {
        const std::lock_guard lock(mutex_);
        keep = keep_;
    }
    if (keep) keep({.run = forget.run, .contents = nullptr, .file = {}, .gone = true});
}

void Trainer::hold_now(const HeldMoments& held) {
    for (const auto& [number, named] : held) {
        const auto hold_in = [&named = named](LiveRun& run, StayingMoments& staying) {
            staying.named = named;
            run.hold(staying.all());
        };
        if (number == state_.run && run_ != nullptr) hold_in(*run_, staying_);
        for (Shelved& one : shelf_)
            if (one.state.run == number) hold_in(*one.run, one.staying);
    }
    note_kept_runs();
    publish(false);
}

void Trainer::execute(const command::SetHistoryBudget& set, const RunSettings&, const std::stop_token&) {
    budget_ = static_cast<std::size_t>(set.mib * (1 << 20));
    const std::size_t all = bytes_of_kept_runs() + (run_ == nullptr ? 0 : run_->history().bytes());
    const double share = static_cast<double>(budget_) / static_cast<double>(std::max<std::size_t>(all, 1));
    const auto thin = [share](LiveRun& run) {
        if (share < 1) run.limit_history(static_cast<std::size_t>(share * static_cast<double>(run.history().bytes())));
    };
    for (Shelved& one : shelf_) thin(*one.run);
    if (run_ != nullptr) thin(*run_);
    note_kept_runs();
    give_room();
    publish(false);
}

}  // namespace attn::app
