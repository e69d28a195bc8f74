#include "app/session/session.hpp"

#include <utility>

#include "app/session/document/document_error.hpp"
#include "app/session/session_impl.hpp"
#include "app/session/values/doctor_report.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

Session::Impl::Impl(Document document, const std::function<void()>& wake, Computation computation, TrainingEngine engine, double memory_mib)
    : history(ready_to_open(std::move(document))), trainer(std::move(engine), wake), files(wake), scheduler(computation, wake, memory_mib),
      writer(std::move(computation.write), wake, memory_mib), recordings(wake) {
    files.set_document({}, history.current());
}

Session::Session(Document document, std::function<void()> wake, double memory_mib)
    : Session(std::move(document), std::move(wake), Computation::engine(), TrainingEngine::engine(), memory_mib) {}

Session::Session(Document document, std::function<void()> wake, Computation computation, TrainingEngine training, double memory_mib)
    : impl_(std::make_unique<Impl>(std::move(document), std::move(wake), std::move(computation), std::move(training), memory_mib)) {
    impl_->show();
}

Session::~Session() = default;

const Document& Session::document() const { return impl_->document(); }

std::shared_ptr<const Document> Session::shared_document() const { return impl_->history.current(); }

void Session::hand_runs_over_to(KeepRun keep) { impl_->trainer.hand_over_to(std::move(keep)); }

void Session::apply(const Command& command) {
    impl_->message.clear();
    try {
        std::visit([&](const auto& what) { impl_->carry_out(what, command.merge); }, command.what);
    } catch (const DocumentError& error) {
        impl_->message = error.what();
        impl_->files.tell(error.what(), true, NoticeOf::Document);
    } catch (const Error& error) {
        impl_->message = error.what();
    }
    impl_->hold_named_moments();
}

void Session::update() {
    const FileDesk::Opened opened = impl_->files.update(impl_->history.current());
    for (const Command& command : opened.commands) apply(command);
    if (opened.reopened) impl_->take_reopened(*opened.reopened);
    impl_->trainer.update(impl_->training);
    if (opened.kept) impl_->take_up(*opened.kept);
    impl_->tell_notice_of_run();
    impl_->adopt_new_run();
    impl_->follow_recording();
    impl_->take_written();
    impl_->refresh();
    impl_->begin_writing();
    impl_->follow();
    impl_->hold_named_moments();
    impl_->order();
    impl_->files.close_models_left();
}

const TrainingReport& Session::training() const { return impl_->training; }

std::shared_ptr<const Snapshot> Session::snapshot() const {
    impl_->refresh();
    return impl_->shown;
}

const States& Session::states() const {
    impl_->refresh();
    return impl_->states;
}

Session::Shown Session::shown() const {
    impl_->refresh();
    const bool up_to_date = impl_->is_up_to_date();
    return {impl_->shown, impl_->states, up_to_date, !up_to_date && impl_->goal != impl_->shown->state};
}

std::optional<double> Session::share_computed() const {
    const std::shared_ptr<const Fact> fact = impl_->scheduler.results().find({impl_->goal, facet::Trace{}});
    if (fact == nullptr || fact->settled() || fact->total == 0) return {};
    return static_cast<double>(fact->done) / static_cast<double>(fact->total);
}

bool Session::is_up_to_date() const { return shown().up_to_date; }

bool Session::shows_document() const {
    impl_->refresh();
    return impl_->goal == impl_->shown->state;
}

bool Session::begins_soon() const { return impl_->goal != impl_->states.shown && impl_->beginning_ahead(); }

void Session::drawn() { impl_->scheduler.picture_drawn(); }

std::optional<std::int64_t> Session::other_step() const { return impl_->other_step; }

Results Session::results() const { return impl_->scheduler.results(); }

void Session::want(std::vector<Request> requests) {
    impl_->wanted = std::move(requests);
    impl_->order();
}

std::shared_ptr<const DoctorReport> Session::dump() const {
    if (!impl_->dump) return nullptr;
    const auto answer = results().find(nullptr, *impl_->dump);
    if (answer) return answer.value;
    DoctorReport report;
    report.file = impl_->dump->file;
    report.reading = answer.computing();
    report.problem = answer.problem;
    return std::make_shared<const DoctorReport>(std::move(report));
}

std::shared_ptr<const Snapshot> Session::wait() {
    StateRef awaited;
    do {
        awaited = impl_->goal;
        impl_->wait_for({awaited, facet::Trace{}});
        for (const Request& request : impl_->ahead()) impl_->scheduler.wait_for(request);
        impl_->refresh();
        impl_->follow();  // the run may have produced newer parameters meanwhile
    } while (impl_->goal != awaited && impl_->is_tracing());
    return snapshot();
}

std::string Session::wait_for_dump() { return impl_->dump ? compute(nullptr, *impl_->dump).problem : ""; }

Results Session::wait_for(const Request& request) { return impl_->wait_for(request); }

void Session::wait_for_training() {
    impl_->trainer.wait();
    update();
}

void Session::wait_for_files() {
    impl_->files.wait();
    update();
}

bool Session::is_writing() const { return impl_->writing.wanted || impl_->writing.tip; }

const std::string& Session::writing_problem() const { return impl_->writing.problem; }

void Session::wait_for_writing() {
    if (impl_->writing.wanted) wait();
    update();
    impl_->writer.wait();
    update();
    wait();
    update();
}

const FilesState& Session::files() const { return impl_->files.state(); }

void Session::write_file(const std::filesystem::path& path, WriteFile write) { impl_->files.write(path, std::move(write)); }

void Session::set_recent_files(std::vector<std::string> recent, std::vector<std::string> models) {
    impl_->files.set_recent(std::move(recent), std::move(models));
}

bool Session::can_undo() const { return impl_->history.can_undo(); }

bool Session::can_redo() const { return impl_->history.can_redo(); }

std::string_view Session::undone_part() const { return impl_->history.undone_part(); }

std::string_view Session::redone_part() const { return impl_->history.redone_part(); }

void Session::begin_here() { impl_->history.begin_here(); }

const std::string& Session::message() const { return impl_->message; }

}  // namespace attn::app
