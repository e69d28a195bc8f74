#include "app/session/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "app/session/analyst.hpp"
#include "app/session/document_error.hpp"
#include "app/session/dump_reader.hpp"
#include "app/session/file_desk.hpp"
#include "app/session/follower.hpp"
#include "app/session/history.hpp"
#include "app/session/knock_out_worker.hpp"
#include "app/session/other_moment.hpp"
#include "app/session/prepare.hpp"
#include "app/session/presets.hpp"
#include "app/session/readings_worker.hpp"
#include "app/session/trained_document.hpp"
#include "app/session/trainer.hpp"
#include "engine/io/text_file.hpp"
#include "engine/tensor/error.hpp"
#include "engine/train/moment_steps.hpp"

namespace attn::app {

namespace {

// Every document has at least one sequence, be it empty, and none comes with a run.
Document ready_to_open(Document document) {
    if (document.texts.empty()) document.texts.emplace_back();
    return untrained(std::move(document));
}

}  // namespace

struct Session::Impl {
    Impl(Document document, const std::function<void()>& wake, Computation computation, TrainingEngine engine)
        : history(ready_to_open(std::move(document))), files(wake), others(computation, wake), analyst(std::move(computation), wake),
          knock_out(wake), kept_readings(wake), trainer(std::move(engine), wake), dumps(wake) {
        files.set_document({}, history.current());
    }

    const Document& document() const { return *history.current(); }
    const TrainingSnapshot& run() const { return *training.snapshot; }
    void change(Document next, const std::string& merge);
    void travel(bool back);
    /// After the document has become another one.
    void changed(const Document& before);
    void request(Depth depth);
    std::optional<LearnedParameters> learned_parameters();
    /// Has the moment that is compared with computed as the document is now.
    void request_other_moment();
    void train_both();
    void measure_heads(const KnockOutQuestion& question);
    void adopt_new_run();
    /// What the trainer could not save or open is said where everything about files is.
    void tell_refusal();
    void adopt_run_of_document();
    void restore(KeptWork work);
    /// Makes the restored document current; `with_run`: its run has been taken up.
    void finish_restoring(bool with_run);
    void follow();

    DocumentHistory history;
    std::string message;
    TrainingReport training{std::make_shared<const TrainingSnapshot>(), {}};
    std::uint64_t adopted = 0;                 ///< the last run that the document was made to follow
    std::uint64_t notices = 0;                 ///< of the training run, as far as they have been taken over
    std::string probe;                         ///< of that run
    std::optional<KeptWork> restored;          ///< waits for its run
    std::uint64_t told_before = 0;             ///< notices of the trainer when it was asked for that run
    std::optional<LearnedParameters> learned;  ///< asked for last
    Follower follower;
    FileDesk files;
    OtherMoment others;
    Analyst analyst;
    KnockOutWorker knock_out;
    ReadingsWorker kept_readings;
    Trainer trainer;
    DumpReader dumps;
};

void Session::Impl::change(Document next, const std::string& merge) {
    if (next.texts.empty()) next.texts.emplace_back();
    const std::shared_ptr<const Document> before = history.current();
    if (history.change(std::move(next), merge)) changed(*before);
}

void Session::Impl::travel(bool back) {
    const std::shared_ptr<const Document> before = history.current();
    const auto usable = [this](const Document& d) { return !d.trained.has_value() || d.trained->run == run().run; };
    const bool possible = back ? history.can_undo() : history.can_redo();
    const std::size_t steps = back ? history.undo(usable) : history.redo(usable);
    if (!possible) message = back ? "there is nothing to undo" : "there is nothing to redo";
    else if (steps == 0) message = "that was the model of a training run that is gone";
    else if (steps > 1) message = "passed over the model of a training run that is gone";
    if (steps > 0) changed(*before);
}

void Session::Impl::changed(const Document& before) {
    if (document().run != before.run) trainer.apply(document().run);
    // What is set for training alone changes nothing that is computed from the document.
    Document shown = before;
    shown.run = document().run;
    if (shown != document()) request(Depth::Everything);
}

void Session::Impl::request_other_moment() {
    const auto of_run = [this](std::int64_t step) { return trainer.moment(run().run, step); };
    const bool possible = document().trained && document().trained->run == run().run && !run().moments.empty();
    others.keep_up(history.current(), run().run, possible ? of_run : std::function<Moment(std::int64_t)>());
}

/// The right run first, so that the broken one is watched against its curve.
void Session::Impl::train_both() {
    const RunSettings& broken = document().run;
    if (broken.train.forward.mistake == Mistake::None) throw Error("choose the mistake that the second run is to make");
    RunSettings right = broken;
    right.train.forward.mistake = Mistake::None;
    const auto complete = [&](const RunCurves& curves) {
        if (curves.settings != right) return false;
        const bool ended = curves.run == run().run && run().phase == TrainingPhase::Finished;
        return ended || (right.stop.steps > 0 && !curves.losses.empty() && curves.losses.back().step >= right.stop.steps);
    };
    if (std::any_of(training.runs.begin(), training.runs.end(), complete)) trainer.restart(broken);
    else trainer.chain(right, broken);
}

void Session::Impl::request(Depth depth) {
    request_other_moment();
    if (!document().trained.has_value()) return analyst.request(history.current());
    std::optional<LearnedParameters> parameters = learned_parameters();
    if (!parameters.has_value()) {
        message = "the model of this training run is gone";
        return;
    }
    learned = parameters;
    if (!document().trained->step.has_value()) follower.asked(run(), depth, Follower::Clock::now());
    analyst.request(history.current(), std::move(parameters), depth);
}

std::optional<LearnedParameters> Session::Impl::learned_parameters() {
    const TrainedModel& trained = *document().trained;
    if (trained.run == run().run) {
        if (!trained.step.has_value()) return LearnedParameters{run().run, {run().parameters_step, run().parameters}};
        Moment moment = trainer.moment(run().run, *trained.step);
        if (moment.parameters != nullptr) return LearnedParameters{run().run, std::move(moment)};
    }
    // The run is being replaced by another one, which the document will follow in a moment.
    if (learned.has_value() && learned->run == trained.run) return learned;
    return {};
}

void Session::Impl::measure_heads(const KnockOutQuestion& question) {
    std::shared_ptr<const Snapshot> snapshot = analyst.snapshot();
    if (snapshot->trace != nullptr) knock_out.request(std::move(snapshot), question);
}

void Session::Impl::adopt_new_run() {
    if (restored && run().run == adopted && run().notices != told_before) return finish_restoring(false);
    if (run().run == adopted) return;
    adopted = run().run;
    if (restored && restored->document) {
        probe = run().probe;
        finish_restoring(true);
    } else {
        adopt_run_of_document();
        if (restored) finish_restoring(true);
    }
}

void Session::Impl::adopt_run_of_document() {
    Document next = document_of_run(document(), run(), {}, probe);
    probe = run().probe;
    if (run().from_file) next.run = run().settings;
    const std::size_t edits = document().forward.edits.size(), kept = next.forward.edits.size();
    const bool nothing_lost = !files.state().would_be_lost;
    change(std::move(next), "");
    if (nothing_lost) files.set_made_by_run(history.current());
    if (kept < edits)
        files.carry_out(
            {command::TellFile{fmt::format("The run's model is another one: {} stayed behind with the model before. Undo goes back there.",
                                           edits == 1 ? "the edit" : fmt::format("{} edits", edits)),
                               false},
             ""},
            history.current(), analyst.snapshot());
}

void Session::Impl::tell_refusal() {
    if (std::exchange(notices, run().notices) == run().notices || !run().refused) return;
    files.carry_out({command::TellFile{run().notice, true}, ""}, history.current(), analyst.snapshot());
}

void Session::Impl::restore(KeptWork work) {
    restored = std::move(work);
    told_before = run().notices;
    if (restored->run.empty()) finish_restoring(false);
    else trainer.open(restored->run, true);
}

void Session::Impl::finish_restoring(bool with_run) {
    const KeptWork work = *std::exchange(restored, {});
    if (work.document) {
        Document next = *work.document;
        const bool fits = with_run && next.trained && next.config == run().parameters->config() && next.vocabulary == run().vocabulary;
        if (fits) next.trained->run = run().run;
        else next = untrained(std::move(next));
        change(std::move(next), "");
    }
    const bool lost = !work.problem.empty() || (!work.run.empty() && !with_run);
    std::string notice = "Restored what was not saved.";
    if (!work.problem.empty()) notice = "Restored the training run; the document could not be read: " + work.problem;
    else if (lost) notice = "The training run could not be restored: " + run().notice;
    files.finish_restoring(!lost, work.file, std::move(notice));
}

void Session::Impl::follow() {
    const std::optional<TrainedModel>& trained = document().trained;
    if (!trained.has_value() || trained->step.has_value() || trained->run != run().run) return;
    if (const auto depth = follower.next(run(), analyst, analyst.snapshot()->compute_ms, Follower::Clock::now())) request(*depth);
}

namespace {

/// Turns `document` into what a command makes of it; what is no change of the document leaves it as it is.
struct Change {
    Document document;
    const TrainingSnapshot& run;
    const std::string& probe;
    void operator()(const command::SetTexts& set) {
        document.texts = set.texts;
        document.source_texts = set.source_texts;
        expect_bearable_texts(document);
    }
    void operator()(const command::SetTokenizer& set) {
        if (set.kind == document.tokenizer) return;
        // Symbols of another kind are no texts to take a vocabulary from.
        const bool fixed = !document.vocabulary.empty();
        document = untrained(std::move(document));
        if (fixed) document.vocabulary_texts.clear();
        document.tokenizer = set.kind;
    }
    void operator()(const command::SetConfig& set) {
        if (set.config == document.config) return;
        document = untrained(std::move(document));
        document.config = set.config;
    }
    void operator()(const command::SetForward& set) { document.forward = set.forward; }
    void operator()(const command::OpenPreset& open) { replace(open_preset(open.name)); }
    void operator()(const command::OpenDocument& open) {
        expect_bearable_texts(open.document);
        document = ready_to_open(open.document);
    }
    void operator()(const command::SetRun& set) { document.run = set.run; }
    void operator()(const command::OpenTrainingText& open) {
        TaskSettings& task = document.run.task;
        task.text = std::make_shared<const std::string>(read_text_file(open.path).text);
        task.text_name = open.path.filename().string();
        task.kind = TaskKind::Text;
    }
    void operator()(const command::SetSampling& set) { document.sampling = set.sampling; }
    void operator()(const command::ShowMoment& show) {
        if (run.run == 0) throw Error("there is no training run yet");
        if (show.step) require_step(run.step, *show.step);
        document = document_of_run(std::move(document), run, show.step, probe);
    }
    void operator()(const command::ShowUntrained&) { document = untrained(std::move(document)); }
    template <class Other>
    void operator()(const Other&) {}

private:
    /// What is set for training stays.
    void replace(Document by) {
        by.run = std::move(document.run);
        by.sampling = document.sampling;
        document = std::move(by);
    }
};

/// Passes on what is asked of the training run and of the doctor; false for every other command.
struct Order {
    Trainer& trainer;
    DumpReader& dumps;
    OtherMoment& others;
    TrainingReport& training;
    const RunSettings& settings;
    bool operator()(const command::StartTraining&) { return trainer.start(settings), true; }
    bool operator()(const command::PauseTraining&) { return trainer.pause(), true; }
    bool operator()(const command::StepTraining&) { return trainer.step(settings), true; }
    bool operator()(const command::ResetTraining&) { return trainer.reset(settings), true; }
    bool operator()(const command::RestartTraining&) { return trainer.restart(settings), true; }
    bool operator()(const command::SaveCheckpoint& save) { return trainer.save(save.path), true; }
    bool operator()(const command::OpenCheckpoint& open) { return trainer.open(open.path), true; }
    bool operator()(const command::CompareMoment& compare) {
        if (compare.step && training.snapshot->run != 0) require_step(training.snapshot->step, *compare.step);
        return others.choose(compare.step), true;
    }
    bool operator()(const command::OpenDump& open) { return dumps.open(open.path), true; }
    bool operator()(const command::ForgetRun& forget) {
        if (forget.run == training.snapshot->run) throw Error("the curves of the run under way cannot be removed");
        std::erase_if(training.runs, [&](const RunCurves& curves) { return curves.run == forget.run; });
        return true;
    }
    template <class Other>
    bool operator()(const Other&) {
        return false;
    }
};

}  // namespace

Session::Session(Document document, std::function<void()> wake)
    : Session(std::move(document), std::move(wake), Computation::engine(), TrainingEngine::engine()) {}

Session::Session(Document document, std::function<void()> wake, Computation computation, TrainingEngine training)
    : impl_(std::make_unique<Impl>(std::move(document), wake, std::move(computation), std::move(training))) {
    impl_->request(Depth::Everything);
}

Session::~Session() = default;

const Document& Session::document() const { return impl_->document(); }

std::shared_ptr<const Document> Session::shared_document() const { return impl_->history.current(); }

void Session::hand_runs_over_to(KeepRun keep) { impl_->trainer.hand_over_to(std::move(keep)); }

void Session::apply(const Command& command) {
    // A view asks for this, not the person, whose last message stays.
    if (const auto* read = std::get_if<command::ReadState>(&command.what)) return impl_->kept_readings.request(read->state);
    impl_->message.clear();
    if (std::holds_alternative<command::Undo>(command.what)) return impl_->travel(true);
    if (std::holds_alternative<command::Redo>(command.what)) return impl_->travel(false);
    if (std::holds_alternative<command::StopMeasuring>(command.what)) return impl_->knock_out.cancel();
    if (const auto* measure = std::get_if<command::MeasureHeads>(&command.what)) return impl_->measure_heads(measure->question);
    if (impl_->files.carry_out(command, impl_->history.current(), impl_->analyst.snapshot())) return;
    try {
        if (std::holds_alternative<command::TrainBoth>(command.what)) return impl_->train_both();
        if (std::visit(Order{impl_->trainer, impl_->dumps, impl_->others, impl_->training, document().run}, command.what))
            return impl_->request_other_moment();
        Change change{document(), impl_->run(), impl_->probe};
        std::visit(change, command.what);
        impl_->change(std::move(change.document), command.merge);
        // An example that was just opened is as good as saved.
        if (std::holds_alternative<command::OpenPreset>(command.what)) impl_->files.set_document({}, impl_->history.current());
    } catch (const DocumentError& error) {
        impl_->message = error.what();
        impl_->files.carry_out({command::TellFile{error.what(), true}, ""}, impl_->history.current(), impl_->analyst.snapshot());
    } catch (const Error& error) {
        impl_->message = error.what();
    }
}

void Session::update() {
    const FileDesk::Opened opened = impl_->files.update(impl_->history.current());
    for (const Command& command : opened.commands) apply(command);
    if (!opened.document.empty()) impl_->files.set_document(opened.document, impl_->history.current());
    if (opened.kept) impl_->restore(*opened.kept);
    impl_->trainer.update(impl_->training);
    impl_->tell_refusal();
    impl_->adopt_new_run();
    impl_->follow();
}

const TrainingReport& Session::training() const { return impl_->training; }

KnockOutReport Session::knock_out() const { return impl_->knock_out.report(); }

void Session::wait_for_knock_out() { impl_->knock_out.wait(); }

ReadingsReport Session::kept_readings() const { return impl_->kept_readings.report(); }

void Session::wait_for_kept_readings() { impl_->kept_readings.wait(); }

std::shared_ptr<const DoctorReport> Session::dump() const { return impl_->dumps.report(); }

void Session::wait_for_dump() { impl_->dumps.wait(); }

std::shared_ptr<const Snapshot> Session::snapshot() const { return impl_->analyst.snapshot(); }

std::shared_ptr<const Snapshot> Session::other_moment() const { return impl_->others.snapshot(); }

std::optional<std::int64_t> Session::other_step() const { return impl_->others.step(); }

void Session::wait_for_other_moment() { impl_->others.wait(); }

std::shared_ptr<const Snapshot> Session::wait(bool verified) { return impl_->analyst.wait(verified); }

void Session::wait_for_training() {
    impl_->trainer.wait();
    update();
}

void Session::wait_for_files() {
    impl_->files.wait();
    update();
}

const FilesState& Session::files() const { return impl_->files.state(); }

void Session::set_recent_files(std::vector<std::string> recent) { impl_->files.set_recent(std::move(recent)); }

bool Session::can_undo() const { return impl_->history.can_undo(); }

bool Session::can_redo() const { return impl_->history.can_redo(); }

const std::string& Session::message() const { return impl_->message; }

}  // namespace attn::app
