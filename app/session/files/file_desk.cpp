#include "app/session/files/file_desk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <system_error>
#include <tuple>
#include <utility>

#include "app/session/document/document_json.hpp"
#include "app/session/document/held_models.hpp"
#include "app/session/document/named_runs.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/document/recording_document.hpp"
#include "app/session/files/file_preview.hpp"
#include "app/session/files/model_listing.hpp"
#include "app/session/files/readable_file.hpp"
#include "app/session/files/recorded_model.hpp"
#include "app/session/files/settings.hpp"
#include "app/session/files/stage_snippet.hpp"
#include "app/session/files/tensor_export.hpp"
#include "app/session/lessons/lesson_writer.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/threads/scarce_memory.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/folder.hpp"
#include "engine/io/npz.hpp"
#include "engine/io/text_file.hpp"
#include "engine/tensor/count_text.hpp"
#include "engine/tensor/error.hpp"
#include "engine/train/run_folder.hpp"

namespace attn::app {

namespace {

constexpr std::size_t kMostRecent = 12, kMostEntries = 5000;
/// The most lines of an opened text that become sequences of the batch, and the most bytes of all, of which each has the same share.
constexpr std::size_t kMostLines = 8, kMostBytesOfLines = 4096;

std::string shown(const std::filesystem::path& path) { return escaped(path.native(), 0); }

std::shared_ptr<const FolderListing> list_folder(const std::filesystem::path& folder) {
    auto listing = std::make_shared<FolderListing>();
    listing->folder = folder;
    std::error_code error;
    const std::filesystem::path where = folder.empty() ? std::filesystem::path(".") : folder;
    std::vector<std::string> names = names_in_folder(where, error);
    std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return !name.starts_with('.'); });
    for (std::string& name : names) {
        std::error_code unknown;
        const bool is_folder = std::filesystem::is_directory(where / name, unknown);
        const std::uintmax_t bytes = is_folder ? 0 : std::filesystem::file_size(where / name, unknown);
        listing->entries.push_back({std::move(name), is_folder, unknown ? 0 : bytes});
        if (listing->entries.size() == kMostEntries) break;
    }
    if (error) listing->problem = error.message();
    std::sort(listing->entries.begin(), listing->entries.end(), [](const auto& a, const auto& b) {
        return std::tuple(a.hidden(), !a.folder, a.name) < std::tuple(b.hidden(), !b.folder, b.name);
    });
    return listing;
}

/// Writes the format given by the extension; returns a description of what was written.
std::string export_numbers(const std::filesystem::path& path, const Snapshot& snapshot, const TensorChoice& choice,
                           const GradientTrace<float>* gradients, const WriteWatch& watch) {
    const std::string extension = path.extension().string();
    const std::string name = tensor_name(choice.stage);
    if (extension == ".safetensors") {
        write_snapshot_trace(path, snapshot, watch);
        return "the whole trace";
    }
    if (extension == ".npz") {
        const Snippet snippet =
            stage_snippet(snapshot, choice.stage, {.operands_in_file = true, .operands_file = path.string()}, watch.stop);
        std::vector<ArrayView> views;
        for (const NamedArray& array : snippet.arrays) views.push_back(view_of(array));
        write_npz(path, views, false, watch);
        return "the operands of " + name;
    }
    if (extension == ".csv") write_tensor_csv(path, snapshot, choice, gradients, watch);
    else if (extension == ".npy") write_tensor_npy(path, snapshot, choice, gradients, watch);
    else throw Error(shown(path) + ": numbers can be written as .csv, .npy, .npz or .safetensors");
    return (choice.gradients ? "the gradients of " : "") + name;
}

/// Said after an export was cancelled, which leaves no part of a file behind.
std::string cancelled_words(const std::filesystem::path& path) {
    std::error_code unknown;
    if (std::filesystem::exists(path, unknown)) return fmt::format("Cancelled: {} stays as it was before.", shown(path));
    return fmt::format("Cancelled: {} was not written, and no part of it is left behind.", shown(path));
}

/// Moves a path to the front.
void remember(std::vector<std::string>& recent, const std::filesystem::path& path) {
    std::erase(recent, path.string());
    recent.insert(recent.begin(), path.string());
    if (recent.size() > kMostRecent) recent.resize(kMostRecent);
}

/// Appends the paths of `earlier` that `recent` does not contain yet.
void recall_recent(std::vector<std::string>& recent, std::vector<std::string> earlier) {
    for (std::string& path : earlier)
        if (recent.size() < kMostRecent && std::find(recent.begin(), recent.end(), path) == recent.end()) recent.push_back(std::move(path));
}

/// Whether it may be a run: a file, or a folder with a checkpoint.
bool may_be_run(const std::filesystem::path& path) {
    std::error_code unknown;
    return std::filesystem::is_regular_file(path, unknown) || std::filesystem::exists(path / kCheckpointName, unknown);
}

/// Where the run is that a document in this folder names; empty if it is in neither of its places.
std::filesystem::path found_run(const RunPlace& place, const std::filesystem::path& folder) {
    if (!place.beside.empty())
        if (const std::filesystem::path near = full_path(folder / place.beside); may_be_run(near)) return near;
    return !place.path.empty() && may_be_run(place.path) ? std::filesystem::path(place.path) : std::filesystem::path();
}

/// A document and the runs that it names; none if it names none. Throws Error if it means nothing without one that is not there.
std::optional<KeptWork> with_its_runs(const ReadableFile& file) {
    KeptWork work;
    work.document = file.document;
    work.file = full_path(file.path);
    work.opened = true;
    work.left_out = file.left_out;
    Document& document = *work.document;
    const NamedRuns named = named_runs(document);
    const std::uint64_t model = document.trained ? document.trained->run : 0;
    for (const auto& [run, steps] : named) {
        const std::filesystem::path place = found_run(document.run_places[run], work.file.parent_path());
        if (!place.empty()) work.runs.push_back({run, place});
        else if (run == model && document.tokenizer == TokenizerKind::Bpe)
            throw Error(shown(file.path) +
                        ": its tokenizer was trained with its model, and the document names no file that has it: open that run");
    }
    if (named.empty()) return std::nullopt;
    // The run that is opened last is the current one.
    std::stable_partition(work.runs.begin(), work.runs.end(), [&](const RunOfWork& run) { return run.number != model; });
    return work;
}

}  // namespace

FileDesk::FileDesk(std::function<void()> wake) : wake_(std::move(wake)), worker_(reports()), exports_(reports()) {}

FileDesk::~FileDesk() = default;

Worker::Reports FileDesk::reports() {
    return {.failed = [this](const std::string& message) { deliver(when_memory_allows([&] { return told(message, true); })); },
            .ended = wake_};
}

void FileDesk::set_recent(std::vector<std::string> recent, std::vector<std::string> models) {
    recall_recent(state_.recent, std::move(recent));
    recall_recent(state_.recent_models, std::move(models));
}

void FileDesk::save(ThingsToSave things, Command again) {
    state_.in_the_way.reset();
    if (!things.runs.empty()) tell(fmt::format("Saving the run in {}…", shown(things.runs.back().folder)), false);
    things.known = known_;
    send([this, things = std::move(things), again = std::make_shared<const Command>(std::move(again)),
          subject = subject_](const std::stop_token&) -> Outcome {
        const SavedThings done = save_things(things);
        if (done.in_the_way.empty()) return saved(things, done, subject);
        return [this, way = InTheWay{done.in_the_way, done.changed, done.is_other_run, again}](Opened&) {
            state_.in_the_way = way;
            ++state_.ways;
        };
    });
}

FileDesk::Outcome FileDesk::saved(const ThingsToSave& things, const SavedThings& done, std::size_t subject) {
    std::string notice;
    const bool in_run = things.document && !run_folder_of(things.document->path).empty();
    if (things.document && (!in_run || things.runs.empty())) notice = "Saved as " + shown(known_as(things.document->path)) + ".";
    if (!things.runs.empty())
        notice += fmt::format("{}Saved step {} in {}.", notice.empty() ? "" : " ", *done.run_step, shown(things.runs.back().folder));
    return [this, notice, stamps = done.stamps, saved = things.document, subject](Opened&) {
        tell(notice, false);
        for (const auto& [written, stamp] : stamps) known_[written] = stamp;
        if (!saved) return;
        const std::filesystem::path& file = saved->path;
        remember(state_.recent, known_as(file));
        for (auto& [other, its] : subjects_)
            if (its.path == file && other != subject) its.left.reset();
        // What was changed while the file was written is not in it.
        SubjectFile& own = subjects_[subject];
        const bool changed_since = own.left != nullptr && *own.left != *saved->document;
        own = {file, saved->document, changed_since ? own.left : nullptr};
        if (subject == subject_) show_subject();
    };
}

void FileDesk::open(const command::OpenFile& open) {
    send([this, open](const std::stop_token& stop) -> Outcome {
        const std::filesystem::path& path = open.path;
        auto file = std::make_shared<ReadableFile>();
        FileStamps stamps;
        const auto note = [&stamps](const std::filesystem::path& read) {
            if (const auto stamp = stamp_of(full_path(read))) stamps[full_path(read)] = *stamp;
        };
        try {
            ModelPlaces places = model_places();
            places.chosen = open.model;
            places.chosen_for = open.model_was;
            note(path);
            *file = read_any_file(path, stop, places);
            note(file->path / kCheckpointName);
            const std::filesystem::path document = run_document(file->path);
            if (std::error_code none; file->kind == FileKind::Run && std::filesystem::exists(document, none)) {
                note(document);
                *file = read_any_file(document, stop, places);
            }
        } catch (const ModelIsMissing& missing) {
            return model_is_missing({path, missing.model(), missing.cause()});
        }
        if (file->document) expect_short_texts(*file->document);
        std::optional<KeptWork> work = file->kind == FileKind::Document ? with_its_runs(*file) : std::nullopt;
        if (work)
            for (const RunOfWork& run : work->runs) note(run.place / kCheckpointName);
        const Outcome taken =
            work ? opened_with_runs(std::move(*work)) : Outcome([this, path, file](Opened& opened) { take(path, *file, opened); });
        return [this, stamps, taken](Opened& opened) {
            for (const auto& [read, stamp] : stamps) known_[read] = stamp;
            taken(opened);
        };
    });
}

void FileDesk::open_rank(const Document& document, std::optional<std::int64_t> rank) {
    send([before = document, rank](const std::stop_token&) -> Outcome {
        const RecordedNumbers& shown = *before.recorded;
        const std::shared_ptr<const OpenedRecording> recording = OpenedRecording::open(shown.recording->path(), rank);
        const bool same_step = std::binary_search(recording->steps().begin(), recording->steps().end(), shown.step);
        auto next =
            std::make_shared<Document>(moved_to(recording, same_step ? std::optional(shown.step) : std::nullopt, shown.group, before));
        return [next](Opened& opened) { opened.commands.push_back({command::OpenDocument{std::move(*next), false, ""}, ""}); };
    });
}

void FileDesk::open_as_model(const RecordedNumbers& recorded, Pins pins, const Look& look) {
    tell("Making a model of the recording…", false);
    send([this, recorded, pins = std::move(pins), look](const std::stop_token& stop) -> Outcome {
        auto made = std::make_shared<OpenedAsModel>(app::open_as_model(recorded, stop));
        made->document.pins = pins;
        made->document.look = look;
        return [this, made](Opened& opened) {
            tell(fmt::format("Opened {} as a model. {}", shown(made->folder), made->proof), false);
            remember(state_.recent_models, made->folder);
            opened.commands.push_back({command::OpenDocument{std::move(made->document), false, ""}, ""});
            state_.opened = FileKind::Model;
            ++state_.openings;
        };
    });
}

FileDesk::Outcome FileDesk::model_is_missing(MissingModel missing) {
    return [this, missing = std::move(missing)](Opened&) {
        state_.missing_model = missing;
        ++state_.missing_models;
    };
}

void FileDesk::count_opened_document() {
    state_.missing_model.reset();
    state_.opened = FileKind::Document;
    ++state_.openings;
}

FileDesk::Outcome FileDesk::opened_with_runs(KeptWork work) {
    return [this, work = std::make_shared<KeptWork>(std::move(work))](Opened& opened) {
        remember(state_.recent, known_as(work->file));
        opened.kept = std::move(*work);
    };
}

void FileDesk::take(const std::filesystem::path& path, ReadableFile& file, Opened& opened) {
    const std::filesystem::path whole = std::filesystem::absolute(file.path);
    const auto send_on = [&](auto what) { opened.commands.push_back({std::move(what), ""}); };
    switch (file.kind) {
    case FileKind::Document: {
        const std::string opened_it = and_left_out("Opened " + shown(path) + ".", file.moved);
        tell(and_left_out(and_left_out(opened_it, file.left_out), conventions_of(*file.document).notes), !file.left_out.empty());
        send_on(command::OpenDocument{std::move(*file.document), false, whole});
        break;
    }
    case FileKind::Model:
        tell(and_left_out(fmt::format("Opened {}, a {} model.", shown(file.path), file.document->model->family()),
                          conventions_of(*file.document).notes),
             false);
        remember(state_.recent_models, whole);
        send_on(command::OpenDocument{std::move(*file.document), true, ""});
        break;
    case FileKind::Recording: {
        const recording::Recording& recorded = file.document->recorded->recording->recording();
        const std::string ended = recorded.error.empty() ? "" : " The code ended with " + escaped(recorded.error, 0) + ".";
        tell(fmt::format("Opened {}.{}", shown(file.path), ended), !ended.empty());
        send_on(command::OpenDocument{std::move(*file.document), false, ""});
        break;
    }
    case FileKind::Run:
        send_on(command::OpenCheckpoint{file.path});
        break;
    case FileKind::Dump:
        send_on(command::OpenDump{path});
        break;
    case FileKind::Text:
        state_.text = OpenedText{whole, std::move(file.text)};
        break;
    case FileKind::Lesson:
        state_.lesson = std::move(file.lesson);
        break;
    }
    remember(state_.recent, whole);
    state_.missing_model.reset();
    state_.opened = file.kind;
    ++state_.openings;
}

void FileDesk::open_training_text(const command::OpenTrainingText& open) {
    send([path = open.path](const std::stop_token&) -> Outcome {
        const command::SetTrainingText set{std::make_shared<const std::string>(read_text_file(path).text), path.filename().string()};
        return [set](Opened& opened) { opened.commands.push_back({set, ""}); };
    });
}

void FileDesk::restore(const command::RestoreWork& restore) {
    send([this, folder = restore.folder](const std::stop_token&) -> Outcome {
        try {
            auto kept = std::make_shared<KeptWork>(AutosaveFolder::read(folder));
            return [kept](Opened& opened) { opened.kept = std::move(*kept); };
        } catch (const std::exception& error) {
            return [this, why = std::string(error.what())](Opened&) { finish_restoring(false, why); };
        }
    });
}

void FileDesk::export_tensor(const command::ExportTensor& wanted, std::shared_ptr<const Snapshot> snapshot,
                             std::shared_ptr<const GradientTrace<float>> gradients) {
    send_export(wanted.path, [wanted, source = std::move(snapshot), gradients = std::move(gradients)](const WriteWatch& watch) {
        const std::string what = export_numbers(wanted.path, *source, wanted.choice, gradients.get(), watch);
        return fmt::format("Wrote {} to {}.", what, shown(wanted.path));
    });
}

void FileDesk::write(const std::filesystem::path& path, WriteFile write) {
    send_export(path, [path, write = std::move(write)](const WriteWatch& watch) {
        write(path, watch);
        return "Wrote " + shown(path) + ".";
    });
}

void FileDesk::append_to_lesson(const std::filesystem::path& file, Json step) {
    send([this, file, step = std::move(step)](const std::stop_token&) -> Outcome {
        const std::shared_ptr<const Lesson> lesson = append_lesson_step(file, step);
        return [this, file, lesson](Opened&) {
            state_.made_lesson = lesson;
            state_.made_lesson_file = file;
            ++state_.lesson_steps;
            remember(state_.recent, full_path(file));
            tell(fmt::format("Step {} of “{}” is in {}. The Lessons menu plays it back.", lesson->steps.size(), escaped(lesson->title),
                             shown(file)),
                 false);
        };
    });
}

void FileDesk::send_export(const std::filesystem::path& path, std::function<std::string(const WriteWatch&)> write) {
    exports_.send([this, path, write = std::move(write)](const std::stop_token& stop) {
        struct AtEnd {
            FileDesk& desk;
            ~AtEnd() { desk.show_export({}); }
        } const at_end{*this};
        show_export(ExportUnderWay{path, 0});
        const WriteWatch watch{stop, [&](double share) { show_export(ExportUnderWay{path, share}); }};
        try {
            deliver(told(write(watch)));
        } catch (const Cancelled&) {
            deliver(told(cancelled_words(path)));
        }
    });
}

void FileDesk::show_export(std::optional<ExportUnderWay> shown) {
    constexpr double kSteps = 100;  // more often would redraw the window for nothing
    const auto step = [](const std::optional<ExportUnderWay>& under_way) { return under_way ? std::floor(under_way->share * kSteps) : -1; };
    bool moves = false;
    {
        const std::lock_guard lock(mutex_);
        moves = step(shown) != step(exporting_);
        exporting_.swap(shown);
    }
    if (moves && wake_) wake_();
}

void FileDesk::cancel_export() { exports_.stop(); }

void FileDesk::copy_snippet(const command::CopySnippet& copy, std::shared_ptr<const Snapshot> snapshot) {
    send([this, copy, source = std::move(snapshot)](const std::stop_token& stop) -> Outcome {
        const std::string file = stage_name(copy.stage) + "_operands.npz";
        const Snippet snippet =
            stage_snippet(*source, copy.stage, {copy.torch ? SnippetDialect::PyTorch : SnippetDialect::NumPy, false, file}, stop);
        std::string notice = fmt::format("Copied {} as a {} program.", tensor_name(copy.stage), copy.torch ? "PyTorch" : "NumPy");
        if (snippet.needs_file) notice += " It has too many operands to copy as text: export them as " + file + " beside it.";
        return [this, notice, text = snippet.text](Opened&) {
            tell(notice, false);
            state_.clipboard = text;
            ++state_.copies;
        };
    });
}

void FileDesk::list(const command::ListFolder& list) {
    send([this, folder = list.folder](const std::stop_token&) -> Outcome {
        return [this, listing = list_folder(folder)](Opened&) { state_.listing = listing; };
    });
}

void FileDesk::list_models(const command::ListModels& list) {
    send([this, folder = list.folder, recent = state_.recent_models](const std::stop_token&) -> Outcome {
        auto models = std::make_shared<const ModelShelf>(app::list_models(folder, recent, model_caches()));
        return [this, models](Opened&) { state_.models = models; };
    });
}

void FileDesk::preview(const command::PreviewFile& preview) {
    send([this, path = preview.path](const std::stop_token&) -> Outcome {
        return [this, found = std::make_shared<const FilePreview>(preview_of(path))](Opened&) { state_.preview = found; };
    });
}

namespace {

void reopen_into(ReopenedModels& found, const ModelRef& model) {
    const auto lose = [&](std::string why) { found.lost.push_back({model, std::move(why)}); };
    const auto changed = [](const std::filesystem::path& file) {
        std::error_code unknown;
        return fmt::format("{} {}", shown(file), std::filesystem::exists(file, unknown) ? "has changed since it was opened" : "is gone");
    };
    if (const std::filesystem::path file = changed_file(*model.identity()); !file.empty()) return lose(changed(file));
    try {
        ModelRef opened = OpenedModel::open(model.identity()->path);
        if (opened == model) found.opened.push_back(std::move(opened));
        else lose(changed(model.identity()->path));
    } catch (const std::exception& error) {
        lose(message_of(error, "there is not enough memory to open it"));
    }
}

}  // namespace

void FileDesk::reopen(std::vector<ModelRef> models) {
    send([models = std::move(models)](const std::stop_token&) -> Outcome {
        auto found = std::make_shared<ReopenedModels>();
        for (const ModelRef& model : models) reopen_into(*found, model);
        return [found](Opened& opened) { opened.reopened = std::move(*found); };
    });
}

void FileDesk::release_models(const Document& current) {
    const std::vector<ModelRef> kept = models_of(current);
    const auto release = [&](std::shared_ptr<const Document>& document) {
        if (document != nullptr) document = releasing_models(std::move(document), kept);
    };
    for (auto& [subject, file] : subjects_) {
        release(file.clean);
        release(file.left);
    }
    release(by_run_);
    for (const ModelRef& model : kept)
        if (std::find(open_models_.begin(), open_models_.end(), model.shared()) == open_models_.end())
            open_models_.push_back(model.shared());
}

void FileDesk::close_models_left() {
    std::erase_if(open_models_, [this](std::shared_ptr<const OpenedModel>& model) {
        if (model.use_count() > 1) return false;
        worker_.send([closed = std::move(model)](const std::stop_token&) {});
        return true;
    });
}

FileDesk::Outcome FileDesk::told(std::string notice, bool failed) {
    return [this, notice = std::move(notice), failed](Opened&) { tell(notice, failed); };
}

void FileDesk::send(Job job) {
    worker_.send([this, job = std::move(job)](const std::stop_token& stop) { deliver(job(stop)); });
    state_.busy = true;
}

void FileDesk::deliver(Outcome outcome) {
    when_memory_allows([&] {
        const std::lock_guard lock(mutex_);
        outcomes_.push_back(std::move(outcome));
    });
}

void FileDesk::wait() {
    worker_.wait();
    exports_.wait();
}

void FileDesk::end_notices(NoticeOf of) { ++state_.ended[static_cast<std::size_t>(of)]; }

void FileDesk::tell(std::string notice, bool failed, NoticeOf of) {
    state_.notice = std::move(notice);
    state_.failed = failed;
    state_.notice_of = of;
    ++state_.notices;
}

FileDesk::Opened FileDesk::update(const std::shared_ptr<const Document>& document) {
    state_.busy = !worker_.is_idle();  // before the outcomes are taken, so that none is missing once it is not
    std::vector<Outcome> outcomes;
    {
        const std::lock_guard lock(mutex_);
        outcomes.swap(outcomes_);
        state_.exporting = exporting_;
    }
    Opened opened;
    opened.commands = std::exchange(waiting_, {});
    for (const Outcome& outcome : outcomes) outcome(opened);
    if (document != compared_) {
        compared_ = document;
        release_models(*document);
        const std::shared_ptr<const Document>& clean = subjects_[subject_].clean;
        state_.unsaved = clean == nullptr || *document != *clean;
        state_.would_be_lost = state_.unsaved && would_be_lost(*document);
    }
    const std::optional<std::size_t> left = left_subject();
    state_.left = left ? subjects_.at(*left).left : nullptr;
    state_.left_document = left ? subjects_.at(*left).path : std::filesystem::path();
    return opened;
}

bool FileDesk::would_be_lost(const Document& document) const {
    const auto same_but_for = [&](const std::shared_ptr<const Document>& other, auto part) {
        if (other == nullptr) return false;
        Document alike = *other;
        part(alike);
        return alike == document;
    };
    // Looking at another moment of a run is not a change worth saving.
    if (same_but_for(by_run_, [&](Document& d) { d.trained = document.trained; })) return false;
    // Nor are the texts of an example, which the settings remember.
    const bool remembered = state_.document.empty() && !document.preset.empty() && text_bytes(document) <= kMostRememberedLetters;
    return !remembered || !same_but_for(subjects_.at(subject_).clean, [&](Document& d) {
        d.texts = document.texts;
        d.source_texts = document.source_texts;
    });
}

void FileDesk::look_at(std::size_t subject) {
    if (subject == subject_) return;
    // What is in no file yet was not meant to be kept.
    if (state_.would_be_lost && !state_.document.empty()) subjects_[subject_].left = compared_;
    subject_ = subject;
    subjects_[subject_].left.reset();
    show_subject();
}

void FileDesk::set_document(std::filesystem::path path, std::shared_ptr<const Document> document) {
    // Opening a file again, or replacing it, discards earlier changes.
    for (auto& [subject, file] : subjects_)
        if (file.path == path) file.left.reset();
    subjects_[subject_] = {std::move(path), std::move(document)};
    show_subject();
}

std::optional<std::size_t> FileDesk::left_subject() const {
    for (auto file = subjects_.rbegin(); file != subjects_.rend(); ++file)
        if (file->second.left != nullptr) return file->first;
    return std::nullopt;
}

void FileDesk::forget_subjects_except(const std::set<std::size_t>& subjects) {
    std::erase_if(subjects_, [&](const auto& known) { return !subjects.contains(known.first); });
}

void FileDesk::show_subject() {
    state_.document = subjects_[subject_].path;
    by_run_.reset();
    compared_.reset();
}

void FileDesk::set_made_by_run(std::shared_ptr<const Document> document) {
    by_run_ = std::move(document);
    compared_.reset();
}

void FileDesk::finish_restoring(bool done, std::string notice) {
    state_.restored = done;
    ++state_.restorations;
    tell(std::move(notice), !done);
}

void FileDesk::tell_what_is_shown(std::size_t all, const std::vector<std::string>& whole, const std::vector<std::string>& lines) {
    std::string notice;
    if (lines.size() < all)
        notice = fmt::format("The first {} of {} lines are shown.", lines.size(), count_text(static_cast<std::int64_t>(all)));
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (lines[i].size() < whole[i].size()) {
            notice += fmt::format("{}Of line {}, the first {} of {} bytes are shown.", notice.empty() ? "" : " ", i + 1,
                                  count_text(std::ssize(lines[i])), count_text(std::ssize(whole[i])));
            break;
        }
    if (!notice.empty()) tell(std::move(notice), false);
}

void FileDesk::use_text(command::UseText::As as, const Document& document) {
    if (!state_.text) return;
    const OpenedText opened = *std::exchange(state_.text, {});
    if (as == command::UseText::As::Training)
        waiting_.push_back({command::SetTrainingText{opened.text, opened.path.filename().string()}, ""});
    if (as != command::UseText::As::Probe) return;
    const std::vector<std::string> whole = lines_with_text(*opened.text, kMostLines);
    command::SetTexts texts{lines_with_text(*opened.text, kMostLines, kMostBytesOfLines / std::max<std::size_t>(whole.size(), 1)), {}};
    tell_what_is_shown(count_lines_with_text(*opened.text), whole, texts.texts);
    // Every new line keeps one of the existing encoder texts.
    const std::vector<std::string>& sources = document.source_texts;
    for (std::size_t i = 0; !sources.empty() && i < texts.texts.size(); ++i) texts.source_texts.push_back(sources[i % sources.size()]);
    waiting_.push_back({std::move(texts), ""});
}

}  // namespace attn::app
