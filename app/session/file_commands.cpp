/// The commands about files, and the taking up of work that was kept.

#include <utility>

#include "app/session/session_impl.hpp"
#include "app/session/trained_document.hpp"

namespace attn::app {

void Session::Impl::carry_out(const command::SaveDocument& save, const std::string&) { files.save(save, history.current()); }
void Session::Impl::carry_out(const command::OpenFile& open, const std::string&) { files.open(open); }
void Session::Impl::carry_out(const command::RestoreWork& restore, const std::string&) { files.restore(restore); }
void Session::Impl::carry_out(const command::UseText& use, const std::string&) { files.use_text(use.as, document()); }
void Session::Impl::carry_out(const command::ExportTensor& wanted, const std::string&) { files.export_tensor(wanted, analyst.snapshot()); }
void Session::Impl::carry_out(const command::CopySnippet& copy, const std::string&) { files.copy_snippet(copy, analyst.snapshot()); }
void Session::Impl::carry_out(const command::ListFolder& list, const std::string&) { files.list(list); }
void Session::Impl::carry_out(const command::TellFile& tell, const std::string&) { files.tell(tell.notice, tell.failed); }
void Session::Impl::carry_out(const command::OpenDump& open, const std::string&) { dumps.open(open.path); }

void Session::Impl::take_up(KeptWork work) {
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
    std::string notice = "Restored the unsaved work.";
    if (!work.problem.empty()) notice = "Restored the training run; the document could not be read: " + work.problem;
    else if (lost) notice = "The training run could not be restored: " + run().notice;
    files.finish_restoring(!lost, work.file, std::move(notice));
}

}  // namespace attn::app
