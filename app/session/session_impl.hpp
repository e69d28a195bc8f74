#pragma once
/// The parts of a session, and one function per command.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/facets/scheduler.hpp"
#include "app/session/files/autosave_folder.hpp"
#include "app/session/files/file_desk.hpp"
#include "app/session/files/recording_watch.hpp"
#include "app/session/history.hpp"
#include "app/session/session.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/states/setup_parts.hpp"
#include "app/session/training/follower.hpp"
#include "app/session/training/trained_document.hpp"
#include "app/session/training/trainer.hpp"
#include "app/session/values/doctor_report.hpp"
#include "app/session/writer.hpp"

namespace attn::app {

/// Makes a loaded document usable: it gets at least one text (possibly empty). Training runs are not stored in documents, so those that it
/// names are missing unless they are opened with it.
Document ready_to_open(Document document);

/// A moment of a run that something names.
struct NamedMoment {
    std::uint64_t run = 0;
    Moment moment;
    bool is(std::uint64_t number, std::int64_t step) const { return run == number && moment.step == step; }
    bool operator==(const NamedMoment& other) const { return is(other.run, other.moment.step) && moment.held == other.moment.held; }
};

struct Session::Impl {
    Impl(Document document, const std::function<void()>& wake, Computation computation, TrainingEngine engine, double memory_mib);

    const Document& document() const { return *history.current(); }
    const RunStatus& run() const { return *training.status; }

    // One overload per command; a command without one does not compile. `merge` as in Command. They throw Error, or DocumentError for an
    // invalid document.
    void carry_out(const command::ShowRecorded& show, const std::string& merge);
    void carry_out(const command::ShowRank& show, const std::string& merge);
    void carry_out(const command::OpenAsModel& open, const std::string& merge);
    /// Shows the newest step of a recording that goes on, if the newest known one was shown.
    void follow_recording();
    /// Throws DocumentError if a recording is shown.
    void expect_model() const;
    void carry_out(const command::SetTexts& set, const std::string& merge);
    void carry_out(const command::SetTokenizer& set, const std::string& merge);
    void carry_out(const command::SetConfig& set, const std::string& merge);
    void carry_out(const command::SetForward& set, const std::string& merge);
    void carry_out(const command::OpenPreset& open, const std::string& merge);
    void carry_out(const command::OpenDocument& open, const std::string& merge);
    void carry_out(const command::SetRun& set, const std::string& merge);
    void carry_out(const command::OpenTrainingText& open, const std::string& merge);
    void carry_out(const command::SetTrainingText& set, const std::string& merge);
    void carry_out(const command::SetSampling& set, const std::string& merge);
    void carry_out(const command::WriteOn& write, const std::string& merge);
    void carry_out(const command::StopWriting& stop, const std::string& merge);
    void carry_out(const command::WriteToken& write, const std::string& merge);
    void carry_out(const command::ShowWritten& show, const std::string& merge);
    void carry_out(const command::ForgetWritten& forget, const std::string& merge);
    void carry_out(const command::ShowMoment& show, const std::string& merge);
    void carry_out(const command::ShowUntrained& show, const std::string& merge);
    void carry_out(const command::Undo& undo, const std::string& merge);
    void carry_out(const command::GoBackToLeft& back, const std::string& merge);
    void carry_out(const command::BeginVisit& begin, const std::string& merge);
    void carry_out(const command::EndVisit& end, const std::string& merge);
    void carry_out(const command::Redo& redo, const std::string& merge);

    void carry_out(const TrainerCommand& what, const std::string& merge);  ///< those that need nothing but the trainer
    void carry_out(const command::TrainBoth& train, const std::string& merge);
    void carry_out(const command::ChooseRun& choose, const std::string& merge);
    void carry_out(const command::ForgetRun& forget, const std::string& merge);
    void carry_out(const command::SaveRun& save, const std::string& merge);
    void carry_out(const command::OpenCheckpoint& open, const std::string& merge);

    void carry_out(const command::CompareMoment& compare, const std::string& merge);
    void carry_out(const command::Pin& pin, const std::string& merge);
    void carry_out(const command::ShowBeside& show, const std::string& merge);
    void carry_out(const command::OpenDump& open, const std::string& merge);

    void carry_out(const command::SaveDocument& save, const std::string& merge);
    void carry_out(const command::OpenFile& open, const std::string& merge);
    void carry_out(const command::RestoreWork& restore, const std::string& merge);
    void carry_out(const command::UseText& use, const std::string& merge);
    void carry_out(const command::ExportTensor& chosen, const std::string& merge);
    void carry_out(const command::ExportTable& shown_table, const std::string& merge);
    void carry_out(const command::MakeLessonStep& make, const std::string& merge);
    void carry_out(const command::ExportPython& python, const std::string& merge);
    void carry_out(const command::ExportLesson& lesson, const std::string& merge);
    void carry_out(const command::CancelExport& cancel, const std::string& merge);
    void carry_out(const command::CopySnippet& copy, const std::string& merge);
    void carry_out(const command::ListFolder& list, const std::string& merge);
    void carry_out(const command::ListModels& list, const std::string& merge);
    void carry_out(const command::SetMemoryBudget& set, const std::string& merge);
    void carry_out(const command::SetHistoryBudget& set, const std::string& merge);
    void carry_out(const command::PreviewFile& preview, const std::string& merge);
    void carry_out(const command::TellFile& tell, const std::string& merge);
    void carry_out(const command::EndNotice& end, const std::string& merge);

    void change(Document next, const std::string& merge);
    /// Like change(), for a document that brings its own generated branches.
    void replace(Document next, const std::string& merge);
    /// The document is a new thing to be saved, in this file. `clean` as in FileDesk::set_document().
    void begin_subject(const std::filesystem::path& file, std::shared_ptr<const Document> clean);
    /// Why the document's model can no longer be shown, as the object of a sentence; "" if it can.
    std::string what_is_gone(const Document& document);
    enum class Way : std::uint8_t { Undo, Redo, ToLeft };
    /// A way to a document whose models may have to be opened first, in the background. Any other change of the document ends it.
    struct Travel {
        Way way = Way::Undo;
        ReopenedModels models{};
        std::vector<Way> next{};  ///< asked for meanwhile
    };
    void travel(Way way);
    void go_on(Travel travel);
    std::shared_ptr<const Document> destination(Way way, const DocumentHistory::Usable& usable) const;
    std::size_t go(Way way, const DocumentHistory::Usable& usable, const std::vector<ModelRef>& opened);
    void take_reopened(ReopenedModels models);
    /// Says which models could not be shown again.
    void tell_lost(const std::vector<ReopenedModels::Lost>& lost, bool skipped);
    /// To be called after the document has changed.
    void changed(const Document& before);

    /// Requests the state of the current document.
    void show();
    /// Where the document's parameters come from; none if they no longer exist.
    std::optional<Source> source_of_document();
    /// A kept moment of a run, which is held from now on while something names it: of exactly this step, or the nearest. Without parameters
    /// if there is none.
    Moment take_moment(std::uint64_t number, std::int64_t step);
    Moment take_moment_near(std::uint64_t number, std::int64_t step);
    /// Has the runs hold the moments that are named by the document, the comparison and, where there is room, what undo leads to.
    void hold_named_moments();
    /// Whether it is the current run or a kept one.
    bool exists(std::uint64_t number) const { return number == run().run || is_kept(number); }
    /// Whether it is a kept run, which can be made current again.
    bool is_kept(std::uint64_t number) const;
    /// The task of the run, or of a kept one.
    std::optional<TaskKind> task_of(std::uint64_t number) const;
    /// Shows the newest trace, or the reason why there is none.
    void refresh();
    /// Chooses what to show as `asked` cannot be computed, and shows it once it is computed.
    void show_stand_in(const Fact& failure, const Results& results);
    /// Says the problem of `asked` beside what is shown.
    void tell_problem(const Fact& failure);
    /// Whether what views look at is there too, or takes so long that it is shown as it comes. `is_begun`: only the beginning of the pass
    /// is known.
    bool is_ready(const Snapshot& next, const Results& results, bool is_begun) const;
    /// Shows the requested state while only the beginning of its pass is known, if that suffices for what views look at.
    void show_beginning(const Results& results);
    /// Replaces the beginning of a pass by the pass once that is known.
    void complete_shown(const Results& results);
    void show_computed(std::shared_ptr<const Snapshot> snapshot);
    /// The beginning to compute ahead of the pass of `goal`; none if it would not show anything sooner.
    std::optional<Request> beginning_ahead() const;
    /// Derives the states that the shown state can be compared with.
    void derive_states();
    StateRef other_moment_of(const State& state);
    /// Pinned A, with the shown text if it reads along.
    std::optional<State> pinned_a() const;
    /// The pins when another example or model is opened: their texts stay.
    Pins pins_that_stay() const;
    /// Quick facets that views show of the current state, requested for `goal`: both are replaced in the same frame.
    std::vector<Request> ahead() const;
    /// Whether `goal` is not shown yet.
    bool is_tracing() const;
    /// As Session::is_up_to_date(), as of the last refresh().
    bool is_up_to_date() const;
    /// Whether the document shows the newest model of a running training run.
    bool is_following() const;
    /// Tells the scheduler what the session and the views want.
    void order();
    Results wait_for(const Request& request);

    /// The document ready to generate text in this sequence; branches of another sequence are dropped.
    Document ready_to_write(std::int64_t sequence) const;
    /// Starts the requested generation once its prompt is computed.
    void begin_writing();
    /// Adds newly generated tokens to the document.
    void take_written();
    void change_by_writing(Document next);
    /// Ends generation after the tokens generated so far.
    void stop_writing();

    void adopt_new_run();
    /// `reopened`: it is not a new run of the document's settings, but one that has settings of its own.
    void adopt_run_of_document(bool reopened);
    void follow();
    /// Shows notices of what the trainer has saved, opened, restored or refused.
    void tell_notice_of_run();
    /// The current run or a kept one; none if it no longer exists.
    std::optional<KeptRun> run_of(std::uint64_t number) const;
    /// A run with what is needed to save it there.
    RunToSave run_to_save(const KeptRun& run, const std::filesystem::path& folder);
    /// Saves the shown document and the runs that it names, as far as those are not saved.
    ThingsToSave document_to_save(const command::SaveDocument& save);

    void take_up(KeptWork work);
    /// The outcome of the order; none if it is still to be carried out.
    const OpenedRun* outcome_of(std::uint64_t order) const;
    /// Makes the document of the opened or restored work current, once all its runs have been opened.
    void finish_opening();
    /// The document shows the kept step nearest to the one that it names. Returns why it is another one, or "".
    std::string settle_step(Document& document);
    /// The document, of which the runs that could be opened have their numbers in this session, and the others are missing.
    Document with_opened_runs(Document document, const std::map<std::uint64_t, std::uint64_t>& opened);
    void tell_restored(const KeptWork& work, const std::string& problem);
    void tell_opened(const KeptWork& work, const std::string& problem);

    DocumentHistory history;
    std::optional<Travel> travelling;  ///< waits for models
    std::string message;
    TrainingReport training{std::make_shared<const RunStatus>(), {}};
    std::uint64_t adopted = 0;               ///< the last run that the document adopted
    std::uint64_t opening = 0;               ///< the last order to open a run without a document; 0: it is carried out
    std::uint64_t newest_adopted = 0;        ///< the run with the highest number of those
    std::uint64_t notices = 0;               ///< training notices shown so far
    Probe probe;                             ///< of the adopted run
    std::optional<KeptWork> taken_up;        ///< waiting for its runs to be opened
    std::vector<std::uint64_t> orders;       ///< to open them, see Trainer::open()
    std::optional<std::int64_t> other_step;  ///< the step to compare with
    std::vector<NamedMoment> named;          ///< the moments that are held by their runs, or are about to be

    StateTable table;
    StateRef asked;     ///< the state of the current document
    StateRef stand_in;  ///< while `asked` cannot be computed: the same, with the parts `held` as they were computed last; null otherwise
    SetupParts held;
    Results seen;   ///< of the pass of `asked`, as of the last refresh(): what is shown goes together with it
    StateRef goal;  ///< what is to be shown: `asked`, or its stand-in
    std::shared_ptr<const Snapshot> computed{std::make_shared<const Snapshot>()};  ///< the last successfully computed
    std::shared_ptr<const Snapshot> shown{computed};                               ///< `computed`, with the problem of the requested state
    States states;
    std::vector<Request> wanted;     ///< by views
    std::optional<Request> awaited;  ///< a request that a caller is waiting for
    std::optional<facet::Dump> dump;
    Follower follower;
    KeptTokenizer tokenizer;
    WritingUnderWay writing;

    Trainer trainer;
    FileDesk files;  // saves what the trainer hands over
    Scheduler scheduler;
    Writer writer;
    RecordingWatch recordings;
};

}  // namespace attn::app
