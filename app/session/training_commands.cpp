/// Commands that control training.

#include <algorithm>
#include <utility>

#include "app/session/session_impl.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

void Session::Impl::carry_out(const TrainerCommand& what, const std::string&) { trainer.send(what, document().run); }

void Session::Impl::carry_out(const command::OpenCheckpoint& open, const std::string&) {
    files.end_notices(NoticeOf::File);
    opening = trainer.open(open.path);
}

void Session::Impl::carry_out(const command::SetHistoryBudget& set, const std::string&) {
    if (!(set.mib > 0)) throw Error("the memory for the kept steps of training runs has to be more than 0");
    trainer.send(set);
}

void Session::Impl::carry_out(const command::TrainBoth& both, const std::string&) {
    const RunSettings& broken = document().run;
    if (!broken.train.forward.mistaken()) throw Error("choose a mistake for the second run");
    RunSettings right = broken;
    right.train.forward.mistake = Mistake::None;
    const auto complete = [&](const RunCurves& curves) {
        if (curves.origin) return false;  // the run that it branched off may have been trained otherwise
        if (curves.settings != right || !curves.changes.empty()) return false;
        const bool ended = curves.run == run().run && run().phase == TrainingPhase::Finished;
        return ended || (right.stop.steps > 0 && !curves.losses.empty() && curves.losses.back().step >= right.stop.steps);
    };
    if (std::any_of(training.runs.begin(), training.runs.end(), complete)) trainer.send(command::RestartTraining{}, broken);
    else trainer.send(both, broken);
}

bool Session::Impl::is_kept(std::uint64_t number) const {
    return std::any_of(run().kept.begin(), run().kept.end(), [&](const KeptRun& kept) { return kept.run == number; });
}

std::optional<KeptRun> Session::Impl::run_of(std::uint64_t number) const {
    const RunStatus& now = run();
    if (number != 0 && number == now.run)
        return KeptRun{now.run,           now.settings, now.phase, now.step, now.saved_step, now.moments.size(),
                       now.history_bytes, now.file,     now.name};
    for (const KeptRun& kept : now.kept)
        if (kept.run == number) return kept;
    return {};
}

std::optional<TaskKind> Session::Impl::task_of(std::uint64_t number) const {
    const std::optional<KeptRun> found = run_of(number);
    return found ? std::optional(found->settings.task.kind) : std::nullopt;
}

void Session::Impl::carry_out(const command::ChooseRun& choose, const std::string&) {
    if (choose.run == run().run) return;
    if (!is_kept(choose.run)) throw Error("this training run no longer exists");
    trainer.send(choose);
}

void Session::Impl::carry_out(const command::ForgetRun& forget, const std::string&) {
    if (forget.run == run().run) throw Error("the curves of the run in progress cannot be removed");
    trainer.send(forget);
    std::erase_if(training.runs, [&](const RunCurves& curves) { return curves.run == forget.run; });
}

}  // namespace attn::app
