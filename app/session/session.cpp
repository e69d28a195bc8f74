#include "app/session/session.hpp"

#include <utility>

#include "app/session/document_error.hpp"
#include "app/session/session_impl.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

Session::Impl::Impl(Document document, const std::function<void()>& wake, Computation computation, TrainingEngine engine)
    : history(ready_to_open(std::move(document))), files(wake), others(computation, wake), analyst(std::move(computation), wake),
      knock_out(wake), kept_readings(wake), trainer(std::move(engine), wake), dumps(wake) {
    files.set_document({}, history.current());
}

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
    if (!std::holds_alternative<command::ReadState>(command.what)) impl_->message.clear();
    try {
        std::visit([&](const auto& what) { impl_->carry_out(what, command.merge); }, command.what);
    } catch (const DocumentError& error) {
        impl_->message = error.what();
        impl_->files.tell(error.what(), true);
    } catch (const Error& error) {
        impl_->message = error.what();
    }
}

void Session::update() {
    const FileDesk::Opened opened = impl_->files.update(impl_->history.current());
    for (const Command& command : opened.commands) apply(command);
    if (!opened.document.empty()) impl_->files.set_document(opened.document, impl_->history.current());
    if (opened.kept) impl_->take_up(*opened.kept);
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
