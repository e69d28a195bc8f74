/// Commands about files, and the restoration of autosaved work.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/session/document/document_json.hpp"
#include "app/session/document/named_runs.hpp"
#include "app/session/files/readable_file.hpp"
#include "app/session/files/tensor_export.hpp"
#include "app/session/lesson_page.hpp"
#include "app/session/lessons/lesson_writer.hpp"
#include "app/session/session_impl.hpp"
#include "app/session/training/trained_document.hpp"
#include "app/session/values/gradients.hpp"
#include "assets/embedded.hpp"
#include "engine/io/atomic_file.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

/// The folder that the run was last saved to or opened from; empty if that was a checkpoint alone, or nothing.
std::filesystem::path folder_of(const KeptRun& run) {
    const std::filesystem::path file = run.file;
    return file.extension() == ".safetensors" ? std::filesystem::path() : file;
}

/// Where a run is saved that has no folder yet. `shown`: the document shows its model.
std::filesystem::path folder_beside(const std::filesystem::path& document, std::uint64_t run, bool shown) {
    if (const std::filesystem::path whole = run_folder_of(document); !whole.empty()) return whole / fmt::format("run-{}", run);
    std::string name = document.filename().string();
    if (name.ends_with(kDocumentExtension)) name.resize(name.size() - kDocumentExtension.size());
    return document.parent_path() / (shown ? name + "-run" : fmt::format("{}-run-{}", name, run));
}

/// A lesson trains a run from its first step, with the same settings all along.
void expect_trained_in_one_go(const Document& document, const TrainingReport& training) {
    if (!document.trained || training.runs.empty() || training.runs.back().run != document.trained->run) return;
    if (training.runs.back().origin || !training.runs.back().changes.empty())
        throw Error("A lesson cannot train a branch, or a run whose settings were changed.");
}

}  // namespace

RunToSave Session::Impl::run_to_save(const KeptRun& of, const std::filesystem::path& folder) {
    RunToSave saved;
    saved.folder = folder;
    if (folder_of(of) == folder) saved.continued = of.saved_step;
    saved.contents = [contents = trainer.contents(of.run)] { return contents.get(); };
    saved.saved = [this, number = of.run, folder](std::int64_t step) { trainer.saved(number, step, folder.string()).wait(); };
    return saved;
}

ThingsToSave Session::Impl::document_to_save(const command::SaveDocument& save) {
    const std::filesystem::path path = full_path(save.path);
    const Document& shown_document = document();
    ThingsToSave things;
    things.document = DocumentToSave{path, history.current(), save.look, {}, nullptr};
    things.replace = save.replace;
    const auto is_of_other_run = [&](const std::filesystem::path& folder, std::uint64_t number) {
        const auto is_it = [&](const KeptRun& other) { return other.run != number && folder_of(other) == folder; };
        return is_it(run_of(run().run).value_or(KeptRun{})) || std::any_of(run().kept.begin(), run().kept.end(), is_it);
    };
    for (const auto& [number, steps] : named_runs(shown_document)) {
        const std::optional<KeptRun> kept_run = run_of(number);
        if (!kept_run) continue;
        const bool is_shown = shown_document.trained && shown_document.trained->run == number;
        const bool inside = is_shown && !run_folder_of(path).empty();
        const std::filesystem::path own = folder_of(*kept_run);
        std::filesystem::path folder = inside ? path.parent_path() : own.empty() ? folder_beside(path, number, is_shown) : own;
        if (!inside && own.empty() && is_of_other_run(folder, number)) folder = folder_beside(path, number, false);
        if (kept_run->unsaved() || own != folder || kept_run->phase == TrainingPhase::Running) {
            things.runs.push_back(run_to_save(*kept_run, folder));
            things.runs.back().named_here = !inside && own.empty();
        }
        if (inside) things.document->text_of_run = kept_run->settings.task.text;
        things.document->run_places[number] = folder;
    }
    return things;
}

void Session::Impl::carry_out(const command::SaveDocument& save, const std::string&) {
    command::SaveDocument again = save;
    again.replace = true;
    files.end_notices(NoticeOf::File);
    files.save(document_to_save(save), {std::move(again), ""});
}

void Session::Impl::carry_out(const command::SaveRun& save, const std::string&) {
    const std::optional<KeptRun> saved = run_of(save.run);
    if (!saved) throw Error(save.run == 0 ? "there is no training run to save yet" : "this training run no longer exists");
    command::SaveRun again = save;
    again.replace = true;
    ThingsToSave things;
    things.runs.push_back(run_to_save(*saved, full_path(save.folder)));
    things.replace = save.replace;
    files.end_notices(NoticeOf::File);
    files.save(std::move(things), {std::move(again), ""});
}

void Session::Impl::carry_out(const command::OpenFile& open, const std::string&) {
    files.end_notices(NoticeOf::File);
    files.open(open);
}
void Session::Impl::carry_out(const command::ShowRank& show, const std::string&) {
    if (!document().recorded) throw Error("there is no recording");
    files.end_notices(NoticeOf::File);
    files.open_rank(document(), show.rank);
}
void Session::Impl::carry_out(const command::OpenAsModel& open, const std::string&) {
    if (!document().recorded) throw Error("there is no recording");
    files.end_notices(NoticeOf::File);
    Pins pins = pins_that_stay();
    if (!pins.a && shown->state != nullptr && recorded_in(*shown->state) != nullptr) pins.a = *shown->state;
    files.open_as_model(*document().recorded, std::move(pins), open.look);
}
void Session::Impl::carry_out(const command::OpenTrainingText& open, const std::string&) {
    files.end_notices(NoticeOf::File);
    files.open_training_text(open);
}
void Session::Impl::carry_out(const command::RestoreWork& restore, const std::string&) { files.restore(restore); }
void Session::Impl::carry_out(const command::UseText& use, const std::string&) { files.use_text(use.as, document()); }
void Session::Impl::carry_out(const command::ExportTensor& chosen, const std::string&) {
    files.end_notices(NoticeOf::File);
    files.export_tensor(chosen, shown, scheduler.results().find(shown->state, facet::Gradients{}).value);
}
void Session::Impl::carry_out(const command::ExportTable& shown_table, const std::string&) {
    files.end_notices(NoticeOf::File);
    files.write(shown_table.path, [table = shown_table.table](const std::filesystem::path& path, const WriteWatch& watch) {
        write_table(path, *table, watch);
    });
}
void Session::Impl::carry_out(const command::MakeLessonStep& make, const std::string&) {
    files.end_notices(NoticeOf::File);
    try {
        expect_trained_in_one_go(document(), training);
        files.append_to_lesson(full_path(make.file), lesson_step(document(), make.look, run(), {make.title, make.caption}));
    } catch (const Error& error) {
        files.tell(error.what(), true);
    }
}
void Session::Impl::carry_out(const command::ExportLesson& page, const std::string&) {
    files.end_notices(NoticeOf::File);
    files.write(page.path, [lesson = page.lesson](const std::filesystem::path& path, const WriteWatch& watch) {
        write_lesson_page(path, *lesson, watch);
    });
}
void Session::Impl::carry_out(const command::ExportPython& python, const std::string&) {
    files.end_notices(NoticeOf::File);
    const EmbeddedFile* file = find_embedded(embedded_assets(), "python/" + python.name);
    if (file == nullptr) return files.tell("There is no such Python file.", true);
    files.write(python.path, [text = file->bytes](const std::filesystem::path& path, const WriteWatch&) { write_whole_file(path, text); });
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
void Session::Impl::carry_out(const command::TellFile& tell, const std::string&) { files.tell(tell.notice, tell.failed, tell.of); }
void Session::Impl::carry_out(const command::EndNotice& end, const std::string&) { files.end_notices(end.of); }

void Session::Impl::take_up(KeptWork work) {
    taken_up = std::move(work);
    orders.clear();
    NamedRuns steps = taken_up->document ? named_runs(*taken_up->document) : NamedRuns();
    for (const RunOfWork& run : taken_up->runs)
        orders.push_back(run.autosaved ? trainer.restore(run.place, run.file, steps[run.number])
                                       : trainer.open(run.place, steps[run.number]));
}

const OpenedRun* Session::Impl::outcome_of(std::uint64_t order) const {
    const std::vector<OpenedRun>& all = run().opened;
    const auto found = std::find_if(all.begin(), all.end(), [&](const OpenedRun& opened) { return opened.order == order; });
    return found == all.end() ? nullptr : &*found;
}

Document Session::Impl::with_opened_runs(Document next, const std::map<std::uint64_t, std::uint64_t>& opened) {
    std::map<std::uint64_t, std::uint64_t> numbers = opened;
    for (const auto& [number, steps] : named_runs(next))
        if (!numbers.contains(number)) numbers[number] = missing_run(number);
    std::erase_if(next.run_places, [&](const auto& entry) { return opened.contains(entry.first) || !numbers.contains(entry.first); });
    renumber_runs(next, numbers);
    for (std::optional<State>* pinned : {&next.pins.a, &next.pins.b}) {
        MomentOfRun* moment = *pinned ? std::get_if<MomentOfRun>(&(*pinned)->source) : nullptr;
        if (moment == nullptr || is_missing(moment->run)) continue;
        Moment kept = take_moment(moment->run, moment->step);
        if (kept.parameters != nullptr) *moment = {moment->run, kept.step, std::move(kept.parameters), task_of(moment->run)};
    }
    // The run brings the text that it learns.
    TaskSettings& task = next.run.task;
    const TaskSettings& learned = run().settings.task;
    if (next.trained && !is_missing(next.trained->run) && task.text == nullptr && task.text_name == learned.text_name)
        task.text = learned.text;
    return next;
}

void Session::Impl::finish_opening() {
    const KeptWork work = *std::exchange(taken_up, {});
    std::map<std::uint64_t, std::uint64_t> opened;
    std::string problem;
    for (std::size_t i = 0; i < orders.size(); ++i) {
        const OpenedRun& outcome = *outcome_of(orders[i]);
        if (outcome.run != 0) opened[work.runs[i].number] = outcome.run;
        else problem = outcome.problem;
    }
    adopted = run().run;
    newest_adopted = std::max(newest_adopted, adopted);
    probe = probe_of(run());
    if (!work.document) {
        if (!opened.empty()) adopt_run_of_document(true);
        return tell_restored(work, problem);
    }
    Document next = *work.document;
    const std::optional<TrainedModel>& trained = next.trained;
    const bool fits = run().run != 0 && next.config == run().parameters->config() && next.vocabulary == run().vocabulary;
    if (trained && opened.contains(trained->run) && !fits) {
        opened.erase(trained->run);
        problem = escaped(work.runs.back().place.native(), 0) + " now has another one";
    }
    if (trained && problem.empty() && !opened.contains(trained->run)) {
        const std::string place = escaped(next.run_places[trained->run].path, 0);
        problem = place.empty() ? "the document does not say where its run is" : "its run is no longer at " + place;
    }
    next = with_opened_runs(std::move(next), opened);
    const std::string other_step_shown = settle_step(next);
    // A run that went on since has other settings than a document that was saved beside it, but not than its own.
    if (work.opened && run_folder_of(work.file).empty() && next.trained && next.trained->run == run().run) next.run = run().settings;
    if (next.texts.empty()) next.texts.emplace_back();
    if (work.opened) replace(std::move(next), "");
    else change(std::move(next), "");
    work.opened ? tell_opened(work, problem) : tell_restored(work, problem);
    if (!other_step_shown.empty()) files.tell(files.state().notice + " " + other_step_shown, true);
}

std::string Session::Impl::settle_step(Document& document) {
    if (!document.trained || !document.trained->step || !exists(document.trained->run)) return "";
    const std::int64_t step = *document.trained->step, kept = take_moment_near(document.trained->run, step).step;
    document.trained->step = kept;
    return step == kept ? "" : fmt::format("Step {} of its run was not kept: step {} is shown.", step, kept);
}

void Session::Impl::tell_restored(const KeptWork& work, const std::string& problem) {
    const bool lost = !work.problem.empty() || !problem.empty();
    std::string notice = "Restored the unsaved work.";
    if (!work.problem.empty()) notice = "Restored the training run; the document could not be read: " + work.problem;
    else if (lost) notice = "The training run could not be restored: " + problem;
    // Saved over its own file, a document without its run would lose the link to it.
    const bool without_run = lost && work.document && work.document->trained;
    if (!without_run && (work.document || !lost)) begin_subject(work.file, nullptr);
    files.finish_restoring(!lost && work.left_out.empty(), and_left_out(std::move(notice), work.left_out));
}

void Session::Impl::tell_opened(const KeptWork& work, const std::string& problem) {
    const auto written = [](const std::filesystem::path& path) { return escaped(path.native(), 0); };
    begin_subject(work.file, history.current());
    files.count_opened_document();
    std::string notice = "Opened " + written(work.file);
    if (!run_folder_of(work.file).empty()) notice = fmt::format("Opened {} at step {}", written(known_as(work.file)), run().step);
    else if (!work.runs.empty() && problem.empty()) notice += " with its trained model from " + written(work.runs.back().place);
    if (!problem.empty()) notice += ", but not its trained model: " + problem;
    if (!notice.ends_with('.')) notice += '.';
    files.tell(and_left_out(std::move(notice), work.left_out), !problem.empty() || !work.left_out.empty());
}

}  // namespace attn::app
