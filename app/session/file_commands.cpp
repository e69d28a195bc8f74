/// Commands about files, and the restoration of autosaved work.

#include <fmt/format.h>

#include <utility>

#include "app/session/files/readable_file.hpp"
#include "app/session/files/tensor_export.hpp"
#include "app/session/session_impl.hpp"
#include "app/session/training/trained_document.hpp"

namespace attn::app {

void Session::Impl::carry_out(const command::SaveDocument& save, const std::string&) {
    const bool of_run = document().trained && document().trained->run == run().run;
    files.save(save, history.current(), of_run ? run().file : "");
}
void Session::Impl::carry_out(const command::OpenFile& open, const std::string&) { files.open(open); }
void Session::Impl::carry_out(const command::OpenTrainingText& open, const std::string&) { files.open_training_text(open); }
void Session::Impl::carry_out(const command::RestoreWork& restore, const std::string&) { files.restore(restore); }
void Session::Impl::carry_out(const command::UseText& use, const std::string&) { files.use_text(use.as, document()); }
void Session::Impl::carry_out(const command::ExportTensor& chosen, const std::string&) {
    files.export_tensor(chosen, shown, scheduler.results().find(shown->state, facet::Gradients{}).value);
}
void Session::Impl::carry_out(const command::ExportTable& shown_table, const std::string&) {
    files.write(shown_table.path, [table = shown_table.table](const std::filesystem::path& path, const WriteWatch& watch) {
        write_table(path, *table, watch);
    });
}
void Session::Impl::carry_out(const command::CancelExport&, const std::string&) { files.cancel_export(); }
void Session::Impl::carry_out(const command::CopySnippet& copy, const std::string&) { files.copy_snippet(copy, shown); }
void Session::Impl::carry_out(const command::ListFolder& list, const std::string&) { files.list(list); }
void Session::Impl::carry_out(const command::ListModels& list, const std::string&) { files.list_models(list); }
void Session::Impl::carry_out(const command::SetMemoryBudget& set, const std::string&) {
    scheduler.set_budget(set.mib);
    writer.set_budget(set.mib);
}
void Session::Impl::carry_out(const command::PreviewFile& preview, const std::string&) { files.preview(preview); }
void Session::Impl::carry_out(const command::TellFile& tell, const std::string&) { files.tell(tell.notice, tell.failed); }

void Session::Impl::take_up(KeptWork work) {
    restored = std::move(work);
    told_before = run().notices;
    if (restored->run.empty()) finish_restoring(false);
    else if (restored->opened) trainer.open(restored->run);
    else trainer.restore(restored->run, restored->run_file);
}

void Session::Impl::take_up_pins(Pins& pins, std::optional<std::uint64_t> run_in_file) {
    for (std::optional<State>* pinned : {&pins.a, &pins.b}) {
        MomentOfRun* moment = *pinned ? std::get_if<MomentOfRun>(&(*pinned)->source) : nullptr;
        if (moment == nullptr || moment->parameters != nullptr) continue;
        const bool known = moment->run == run_in_file;
        moment->run = 0;
        if (!known) continue;
        Moment kept = trainer.moment(run().run, moment->step);
        if (kept.step == moment->step && kept.parameters != nullptr)
            *moment = {run().run, kept.step, std::move(kept.parameters), task_of(run().run)};
    }
}

void Session::Impl::finish_restoring(bool with_run) {
    const KeptWork work = *std::exchange(restored, {});
    bool fits = false;
    if (work.document) {
        Document next = *work.document;
        fits = with_run && next.trained && next.config == run().parameters->config() && next.vocabulary == run().vocabulary;
        take_up_pins(next.pins, fits ? std::optional(next.trained->run) : std::nullopt);
        if (fits) next.trained->run = run().run;
        else next = ready_to_open(std::move(next));
        if (work.opened) replace(std::move(next), "");
        else change(std::move(next), "");
    }
    if (work.opened) return finish_opening(work, with_run, fits);
    const bool lost = !work.problem.empty() || (!work.run.empty() && !with_run);
    std::string notice = "Restored the unsaved work.";
    if (!work.problem.empty()) notice = "Restored the training run; the document could not be read: " + work.problem;
    else if (lost) notice = "The training run could not be restored: " + run().notice;
    // Saved over its own file, a document without its run would lose the link to it.
    const bool without_run = lost && work.document && work.document->trained;
    if (!without_run && (work.document || !lost)) begin_subject(work.file, nullptr);
    files.finish_restoring(!lost && work.left_out.empty(), and_left_out(std::move(notice), work.left_out));
}

void Session::Impl::finish_opening(const KeptWork& work, bool with_run, bool fits) {
    const auto written = [](const std::filesystem::path& path) { return escaped(path.native(), 0); };
    const std::string opened = "Opened " + written(work.file);
    begin_subject(work.file, history.current());
    files.count_opened_document();
    std::string notice = fmt::format("{} with its trained model from {}.", opened, written(work.run));
    if (!fits)
        notice = fmt::format("{}, but not its trained model: {}", opened,
                             with_run ? written(work.run) + " now has another one." : std::string(run().notice));
    files.tell(and_left_out(std::move(notice), work.left_out), !fits || !work.left_out.empty());
}

}  // namespace attn::app
