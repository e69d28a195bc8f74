#include "app/session/files/file_desk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <system_error>
#include <utility>

#include "app/session/document/document_json.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/facets/scarce_memory.hpp"
#include "app/session/files/file_preview.hpp"
#include "app/session/files/model_listing.hpp"
#include "app/session/files/readable_file.hpp"
#include "app/session/files/settings.hpp"
#include "app/session/files/stage_snippet.hpp"
#include "app/session/files/tensor_export.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/folder.hpp"
#include "engine/io/npz.hpp"
#include "engine/io/text_file.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

namespace {

constexpr std::size_t kMostRecent = 12, kMostEntries = 5000;
/// The most lines of an opened text that become sequences of the batch, and the most bytes of each.
constexpr std::size_t kMostLines = 8, kLongestLine = 300;

std::string shown(const std::filesystem::path& path) { return escaped(path.native(), 0); }

std::shared_ptr<const FolderListing> list_folder(const std::filesystem::path& folder) {
    auto listing = std::make_shared<FolderListing>();
    listing->folder = folder;
    std::error_code error;
    const std::filesystem::path where = folder.empty() ? std::filesystem::path(".") : folder;
    for (std::string& name : names_in_folder(where, error)) {
        if (name.front() == '.') continue;
        std::error_code unknown;
        const bool is_folder = std::filesystem::is_directory(where / name, unknown);
        const std::uintmax_t bytes = is_folder ? 0 : std::filesystem::file_size(where / name, unknown);
        listing->entries.push_back({std::move(name), is_folder, unknown ? 0 : bytes});
        if (listing->entries.size() == kMostEntries) break;
    }
    if (error) listing->problem = error.message();
    std::sort(listing->entries.begin(), listing->entries.end(),
              [](const auto& a, const auto& b) { return a.folder != b.folder ? a.folder : a.name < b.name; });
    return listing;
}

/// Writes the format given by the extension; returns a description of what was written.
std::string export_numbers(const std::filesystem::path& path, const Snapshot& snapshot, const TensorChoice& choice,
                           const GradientTrace<float>* gradients) {
    const std::string extension = path.extension().string();
    const std::string name = tensor_name(choice.stage);
    if (extension == ".safetensors") {
        write_snapshot_trace(path, snapshot);
        return "the whole trace";
    }
    if (extension == ".npz") {
        const Snippet snippet = stage_snippet(snapshot, choice.stage, {.operands_in_file = true, .operands_file = path.string()});
        std::vector<ArrayView> views;
        for (const NamedArray& array : snippet.arrays) views.push_back(view_of(array));
        write_npz(path, views);
        return "the operands of " + name;
    }
    if (extension == ".csv") write_tensor_csv(path, snapshot, choice, gradients);
    else if (extension == ".npy") write_tensor_npy(path, snapshot, choice, gradients);
    else throw Error(shown(path) + ": numbers can be written as .csv, .npy, .npz or .safetensors");
    return (choice.gradients ? "the gradients of " : "") + name;
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

}  // namespace

FileDesk::FileDesk(std::function<void()> wake) : wake_(std::move(wake)), worker_([this](const std::stop_token& stop) { work(stop); }) {}

FileDesk::~FileDesk() = default;

void FileDesk::set_recent(std::vector<std::string> recent, std::vector<std::string> models) {
    recall_recent(state_.recent, std::move(recent));
    recall_recent(state_.recent_models, std::move(models));
}

void FileDesk::save(const command::SaveDocument& save, std::shared_ptr<const Document> document) {
    send([path = save.path, document = std::move(document), subject = subject_](Result& result, const std::stop_token&) {
        save_document(path, *document);
        result.notice = "Saved as " + shown(path) + ".";
        if (document->trained) result.notice += " The trained model is not included: save its checkpoint in the Train view.";
        result.path = std::filesystem::absolute(path);
        result.saved = document;
        result.subject = subject;
    });
}

void FileDesk::open(const command::OpenFile& open) {
    send([path = open.path](Result& result, const std::stop_token& stop) {
        ReadableFile file = read_any_file(path, stop);
        if (file.document) expect_bearable_texts(*file.document);
        result.opened = file.kind;
        if (file.kind == FileKind::Dump) result.commands.push_back({command::OpenDump{path}, ""});
        result.path = std::filesystem::absolute(file.path);
        result.text = file.text;
        result.lesson = file.lesson;
        if (file.kind == FileKind::Run) result.commands.push_back({command::OpenCheckpoint{path}, ""});
        if (file.kind == FileKind::Model) {
            result.notice = fmt::format("Opened {}, a {} model.", shown(file.path), file.document->model->family());
            result.commands.push_back({command::OpenDocument{std::move(*file.document), true, ""}, ""});
        }
        if (file.kind == FileKind::Document) {
            result.notice = "Opened " + shown(path) + ".";
            if (file.document->trained) result.notice += " The trained model is not included: open its checkpoint.";
            result.commands.push_back({command::OpenDocument{std::move(*file.document), false, result.path}, ""});
        }
    });
}

void FileDesk::open_training_text(const command::OpenTrainingText& open) {
    send([path = open.path](Result& result, const std::stop_token&) {
        auto text = std::make_shared<const std::string>(read_text_file(path).text);
        result.commands.push_back({command::SetTrainingText{std::move(text), path.filename().string()}, ""});
    });
}

void FileDesk::restore(const command::RestoreWork& restore) {
    send([folder = restore.folder](Result& result, const std::stop_token&) {
        result.restoring = true;
        try {
            result.kept = AutosaveFolder::read(folder);
        } catch (const std::exception& error) {
            result.notice = error.what();
            result.failed = true;
        }
    });
}

void FileDesk::export_tensor(const command::ExportTensor& wanted, std::shared_ptr<const Snapshot> snapshot,
                             std::shared_ptr<const GradientTrace<float>> gradients) {
    send([wanted, source = std::move(snapshot), gradients = std::move(gradients)](Result& result, const std::stop_token&) {
        const std::string what = export_numbers(wanted.path, *source, wanted.choice, gradients.get());
        result.notice = fmt::format("Wrote {} to {}.", what, shown(wanted.path));
    });
}

void FileDesk::write(const std::filesystem::path& path, std::function<void(const std::filesystem::path&)> write) {
    send([path, write = std::move(write)](Result& result, const std::stop_token&) {
        write(path);
        result.notice = "Wrote " + shown(path) + ".";
    });
}

void FileDesk::copy_snippet(const command::CopySnippet& copy, std::shared_ptr<const Snapshot> snapshot) {
    send([copy, source = std::move(snapshot)](Result& result, const std::stop_token&) {
        const std::string file = std::string(stage_name(copy.stage.stage)) + "_operands.npz";
        const Snippet snippet =
            stage_snippet(*source, copy.stage, {copy.torch ? SnippetDialect::PyTorch : SnippetDialect::NumPy, false, file});
        result.clipboard = snippet.text;
        result.notice = fmt::format("Copied {} as a {} program.", tensor_name(copy.stage), copy.torch ? "PyTorch" : "NumPy");
        if (snippet.needs_file) result.notice += " It has too many operands to copy as text: export them as " + file + " beside it.";
    });
}

void FileDesk::list(const command::ListFolder& list) {
    send([folder = list.folder](Result& result, const std::stop_token&) { result.listing = list_folder(folder); });
}

void FileDesk::list_models(const command::ListModels& list) {
    send([folder = list.folder, recent = state_.recent_models](Result& result, const std::stop_token&) {
        result.models = std::make_shared<const ModelShelf>(app::list_models(folder, recent, model_caches()));
    });
}

void FileDesk::preview(const command::PreviewFile& preview) {
    send([path = preview.path](Result& result, const std::stop_token&) {
        result.preview = std::make_shared<const FilePreview>(preview_of(path));
    });
}

void FileDesk::send(Job job) {
    {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
        ++unfinished_;
    }
    state_.busy = true;
    ordered_.notify_one();
}

void FileDesk::work(const std::stop_token& stop) {
    while (true) {
        Job job;
        {
            std::unique_lock lock(mutex_);
            if (!ordered_.wait(lock, stop, [this] { return !jobs_.empty(); })) return;
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        Result result;
        try {
            job(result, stop);
        } catch (const std::exception& error) {
            result = Result{};
            result.notice = message_of(error);
            result.failed = true;
        }
        {
            const std::lock_guard lock(mutex_);
            when_memory_allows([&] { results_.push_back(std::move(result)); });
            --unfinished_;
        }
        rested_.notify_all();
        wake_();
    }
}

void FileDesk::wait() {
    std::unique_lock lock(mutex_);
    rested_.wait(lock, [this] { return unfinished_ == 0; });
}

void FileDesk::tell(std::string notice, bool failed) {
    state_.notice = std::move(notice);
    state_.failed = failed;
    ++state_.notices;
}

void FileDesk::take(Result result, Opened& opened) {
    if (result.listing != nullptr) {
        state_.listing = std::move(result.listing);
        return;
    }
    if (result.models != nullptr) {
        state_.models = std::move(result.models);
        return;
    }
    if (result.preview != nullptr) {
        state_.preview = std::move(result.preview);
        return;
    }
    if (result.kept) opened.kept = std::move(result.kept);
    else if (result.restoring) return finish_restoring(false, std::move(result.notice));
    if (!result.notice.empty()) tell(std::move(result.notice), result.failed);
    if (!result.clipboard.empty()) {
        state_.clipboard = std::move(result.clipboard);
        ++state_.copies;
    }
    if (!result.path.empty()) remember(state_.recent, result.path);
    if (result.opened == FileKind::Model) remember(state_.recent_models, result.path);
    if (result.saved != nullptr) {
        subjects_[result.subject] = {result.path, std::move(result.saved)};
        if (result.subject == subject_) show_subject();
    }
    std::move(result.commands.begin(), result.commands.end(), std::back_inserter(opened.commands));
    if (!result.opened) return;
    state_.opened = *result.opened;
    ++state_.openings;
    if (result.text != nullptr) state_.text = OpenedText{result.path, std::move(result.text)};
    if (result.lesson != nullptr) state_.lesson = std::move(result.lesson);
}

FileDesk::Opened FileDesk::update(const std::shared_ptr<const Document>& document) {
    std::vector<Result> results;
    {
        const std::lock_guard lock(mutex_);
        results.swap(results_);
        state_.busy = unfinished_ > 0;
    }
    Opened opened;
    opened.commands = std::exchange(waiting_, {});
    for (Result& result : results) take(std::move(result), opened);
    if (document != compared_) {
        compared_ = document;
        const std::shared_ptr<const Document>& clean = subjects_[subject_].clean;
        state_.unsaved = clean == nullptr || *document != *clean;
        state_.would_be_lost = state_.unsaved && would_be_lost(*document);
    }
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
    subject_ = subject;
    show_subject();
}

void FileDesk::set_document(std::filesystem::path path, std::shared_ptr<const Document> document) {
    subjects_[subject_] = {std::move(path), std::move(document)};
    show_subject();
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

void FileDesk::use_text(command::UseText::As as, const Document& document) {
    if (!state_.text) return;
    const OpenedText opened = *std::exchange(state_.text, {});
    if (as == command::UseText::As::Training)
        waiting_.push_back({command::SetTrainingText{opened.text, opened.path.filename().string()}, ""});
    if (as != command::UseText::As::Probe) return;
    command::SetTexts texts{lines_with_text(*opened.text, kMostLines, kLongestLine), {}};
    // Every new line keeps one of the existing encoder texts.
    const std::vector<std::string>& sources = document.source_texts;
    for (std::size_t i = 0; !sources.empty() && i < texts.texts.size(); ++i) texts.source_texts.push_back(sources[i % sources.size()]);
    waiting_.push_back({std::move(texts), ""});
}

}  // namespace attn::app
