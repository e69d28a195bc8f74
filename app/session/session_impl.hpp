#pragma once
/// What a session consists of, and one function for every command.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/facets/scheduler.hpp"
#include "app/session/files/autosave_folder.hpp"
#include "app/session/files/file_desk.hpp"
#include "app/session/history.hpp"
#include "app/session/session.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/training/follower.hpp"
#include "app/session/training/trained_document.hpp"
#include "app/session/training/trainer.hpp"
#include "app/session/writer.hpp"

namespace attn::app {

/// The document with at least one text, be it empty, and freshly drawn parameters: no document comes with a run.
Document ready_to_open(Document document);

struct Session::Impl {
    Impl(Document document, const std::function<void()>& wake, Computation computation, TrainingEngine engine, double memory_mib);

    const Document& document() const { return *history.current(); }
    const TrainingSnapshot& run() const { return *training.snapshot; }

    // One for every command, so that a new one does not compile before it is handled. `merge` as in Command. They throw Error, and
    // DocumentError for what no document can hold.
    void carry_out(const command::SetTexts& set, const std::string& merge);
    void carry_out(const command::SetTokenizer& set, const std::string& merge);
    void carry_out(const command::SetConfig& set, const std::string& merge);
    void carry_out(const command::SetForward& set, const std::string& merge);
    void carry_out(const command::OpenPreset& open, const std::string& merge);
    void carry_out(const command::OpenDocument& open, const std::string& merge);
    void carry_out(const command::SetRun& set, const std::string& merge);
    void carry_out(const command::OpenTrainingText& open, const std::string& merge);
    void carry_out(const command::SetSampling& set, const std::string& merge);
    void carry_out(const command::WriteOn& write, const std::string& merge);
    void carry_out(const command::StopWriting& stop, const std::string& merge);
    void carry_out(const command::WriteToken& write, const std::string& merge);
    void carry_out(const command::ShowWritten& show, const std::string& merge);
    void carry_out(const command::ForgetWritten& forget, const std::string& merge);
    void carry_out(const command::ShowMoment& show, const std::string& merge);
    void carry_out(const command::ShowUntrained& show, const std::string& merge);
    void carry_out(const command::Undo& undo, const std::string& merge);
    void carry_out(const command::Redo& redo, const std::string& merge);

    void carry_out(const command::StartTraining& start, const std::string& merge);
    void carry_out(const command::PauseTraining& pause, const std::string& merge);
    void carry_out(const command::StepTraining& step, const std::string& merge);
    void carry_out(const command::ResetTraining& reset, const std::string& merge);
    void carry_out(const command::RestartTraining& restart, const std::string& merge);
    void carry_out(const command::TrainBoth& train, const std::string& merge);
    void carry_out(const command::ChooseRun& choose, const std::string& merge);
    void carry_out(const command::ForgetRun& forget, const std::string& merge);
    void carry_out(const command::SaveCheckpoint& save, const std::string& merge);
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
    void carry_out(const command::CopySnippet& copy, const std::string& merge);
    void carry_out(const command::ListFolder& list, const std::string& merge);
    void carry_out(const command::ListModels& list, const std::string& merge);
    void carry_out(const command::SetMemoryBudget& set, const std::string& merge);
    void carry_out(const command::PreviewFile& preview, const std::string& merge);
    void carry_out(const command::TellFile& tell, const std::string& merge);

    void change(Document next, const std::string& merge);
    /// The same for a document whose branches are its own.
    void replace(Document next, const std::string& merge);
    void travel(bool back);
    /// After the document has become another one.
    void changed(const Document& before);

    /// Asks for the document's state, as it is now.
    void show();
    /// Whose parameters the document has now; none when they are gone.
    std::optional<Source> source_of_document();
    /// A run that another one has taken the place of, and that can be taken up again.
    bool is_kept(std::uint64_t number) const;
    /// Takes over the newest trace, or why there is none.
    void refresh();
    /// What the shown state can be compared with.
    void derive_states();
    StateRef other_moment_of(const State& state);
    /// What views show of the state on screen, of the one that takes its place: they change together.
    std::vector<Request> ahead() const;
    /// The asked state is not shown yet, and nothing is known to be wrong with it.
    bool is_tracing() const;
    /// The document's model is the newest of a run under way.
    bool is_following() const;
    /// Tells the scheduler what is wanted of the session itself and of the views.
    void order();
    Results wait_for(const Request& request);

    /// The branches as they go on in this sequence; else they are new.
    Document ready_to_write(std::int64_t sequence) const;
    /// Begins to write what was asked for as soon as its prompt is computed.
    void begin_writing();
    /// Takes over what has been written.
    void take_written();
    void change_by_writing(Document next);
    /// The tokens come to an end where they are.
    void stop_writing();

    void adopt_new_run();
    void adopt_run_of_document();
    void follow();
    /// What the trainer could not save or open is said where everything about files is.
    void tell_refusal();
    void take_up(KeptWork work);
    /// Gives pinned moments of the run, as its file numbers it, the parameters of the run that was taken up; all others are gone.
    void take_up_pins(Pins& pins, std::optional<std::uint64_t> run_in_file);
    /// Makes the restored document current; `with_run`: its run has been taken up.
    void finish_restoring(bool with_run);

    DocumentHistory history;
    std::string message;
    TrainingReport training{std::make_shared<const TrainingSnapshot>(), {}};
    std::uint64_t adopted = 0;               ///< the last run that the document was made to follow
    std::uint64_t notices = 0;               ///< of the training run, as far as they have been taken over
    Probe probe;                             ///< of that run
    std::optional<KeptWork> restored;        ///< waits for its run
    std::uint64_t told_before = 0;           ///< notices of the trainer when it was asked for that run
    std::optional<std::int64_t> other_step;  ///< that is compared with

    StateTable table;
    StateRef asked;                                                                ///< the document's state
    std::shared_ptr<const Snapshot> computed{std::make_shared<const Snapshot>()};  ///< the last one that could be
    std::shared_ptr<const Snapshot> shown{computed};                               ///< the same, with the problem of the asked state
    States states;
    std::vector<Request> wanted;     ///< by views
    std::optional<Request> awaited;  ///< somebody waits for it
    std::optional<facet::Dump> dump;
    Follower follower;
    KeptTokenizer tokenizer;
    WritingUnderWay writing;

    FileDesk files;
    Scheduler scheduler;
    Trainer trainer;
    Writer writer;
};

}  // namespace attn::app
