#include "app/session/files/autosave.hpp"

#include <new>
#include <utility>

namespace attn::app {

Autosave::Autosave(std::filesystem::path parent, std::chrono::milliseconds pause)
    : parent_(std::move(parent)), pause_(pause), worker_([this](const std::stop_token& stop) { run(stop); }) {}

Autosave::~Autosave() = default;

UnsavedWork Autosave::Wanted::to_keep() const {
    const bool shows_run = work.document != nullptr && work.document->trained.has_value();
    UnsavedWork kept;
    if (document_unsaved || run_unsaved) kept = {work.document, work.file, nullptr};
    if (run_unsaved || (document_unsaved && shows_run)) kept.run = work.run;
    return kept;
}

void Autosave::change(Wanted wanted) {
    wanted_ = std::move(wanted);
    dirty_ = true;
}

void Autosave::keep_document(std::shared_ptr<const Document> document, const std::filesystem::path& file, bool unsaved) {
    {
        const std::lock_guard lock(mutex_);
        if (wanted_.work.document == document && wanted_.document_unsaved == unsaved && wanted_.work.file == file) return;
        Wanted next = wanted_;
        next.work.document = std::move(document);
        next.work.file = file;
        next.document_unsaved = unsaved;
        change(std::move(next));
    }
    changed_.notify_one();
}

void Autosave::keep_run(std::shared_ptr<const RunFolder> run, bool unsaved) {
    {
        const std::lock_guard lock(mutex_);
        Wanted next = wanted_;
        next.work.run = std::move(run);
        next.run_unsaved = unsaved;
        change(std::move(next));
    }
    changed_.notify_one();
}

void Autosave::flush() {
    std::unique_lock lock(mutex_);
    if (!dirty_ && !writing_) return;
    hurry_ = true;
    changed_.notify_one();
    // Waits for one attempt made after this call, successful or not: a full disk must not block the caller.
    const std::uint64_t enough = attempts_ + (writing_ ? 2 : 1);
    rested_.wait(lock, [&] { return (!dirty_ && !writing_) || attempts_ >= enough; });
}

void Autosave::discard() {
    {
        const std::lock_guard lock(mutex_);
        change({});
    }
    flush();
}

void Autosave::adopt(AutosaveFolder folder) {
    {
        const std::lock_guard lock(mutex_);
        adopted_ = std::move(folder);
        dirty_ = true;
    }
    changed_.notify_one();
}

std::string Autosave::problem() const {
    const std::lock_guard lock(mutex_);
    return problem_;
}

void Autosave::run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, stop, [this] { return dirty_; });
        if (!stop.stop_requested()) changed_.wait_until(lock, stop, due_, [this] { return hurry_; });
        if (stop.stop_requested()) return;
        dirty_ = hurry_ = false;
        writing_ = true;
        const UnsavedWork work = wanted_.to_keep();
        std::optional<AutosaveFolder> adopted = std::exchange(adopted_, {});
        lock.unlock();
        std::string problem;
        try {
            if (adopted) {
                if (folder_) folder_->remove();
                folder_ = std::move(adopted);
                written_ = {};
            }
            write(work);
        } catch (const std::bad_alloc&) {
            problem = "there is not enough memory to autosave";
        } catch (const std::exception& error) {
            problem = error.what();
        }
        lock.lock();
        writing_ = false;
        ++attempts_;
        if (!problem.empty()) dirty_ = true;  // retried after the pause
        problem_ = std::move(problem);
        due_ = Clock::now() + pause_;
        rested_.notify_all();
    }
}

void Autosave::write(const UnsavedWork& work) {
    if (work.document == nullptr && work.run == nullptr) {
        if (folder_) folder_->remove();
        folder_.reset();
        written_ = {};
        return;
    }
    const bool same_document = folder_ && work.document == written_.document, same_run = folder_ && work.run == written_.run;
    if (same_document && same_run && work.file == written_.file) return;
    if (!folder_) folder_ = AutosaveFolder::create(parent_);
    // Reset first: if a write fails, none of the work counts as written.
    written_ = {};
    if (!same_document) folder_->write_document(work);
    if (!same_run) folder_->write_run(work);
    folder_->write_words(work);
    written_ = work;
}

}  // namespace attn::app
