#include "app/session/files/autosave.hpp"

#include <exception>
#include <utility>

#include "app/session/threads/scarce_memory.hpp"

namespace attn::app {

Autosave::Autosave(std::filesystem::path parent, std::chrono::milliseconds pause) : parent_(std::move(parent)), pause_(pause) {}

Autosave::~Autosave() = default;

UnsavedWork Autosave::Wanted::to_keep() const {
    const bool shows_run = work.document != nullptr && work.document->trained.has_value();
    UnsavedWork kept;
    if (document_unsaved || run_unsaved) kept = {.document = work.document, .file = work.file, .run = nullptr, .look = work.look};
    if (run_unsaved || (document_unsaved && shows_run)) {
        kept.run = work.run;
        kept.run_file = work.run_file;
    }
    return kept;
}

void Autosave::change(Wanted wanted) {
    wanted_ = std::move(wanted);
    dirty_ = true;
    nothing_new_ = false;
}

void Autosave::keep_document(std::shared_ptr<const Document> document, const std::filesystem::path& file, bool unsaved,
                             const std::optional<Look>& look) {
    {
        const std::lock_guard lock(mutex_);
        if (wanted_.work.document == document && wanted_.document_unsaved == unsaved && wanted_.work.file == file &&
            wanted_.work.look == look)
            return;
        Wanted next = wanted_;
        next.work.document = std::move(document);
        next.work.file = file;
        next.work.look = look;
        next.document_unsaved = unsaved;
        change(std::move(next));
    }
    keep_up_later();
}

void Autosave::keep_run(std::shared_ptr<const RunFolder> run, const std::string& file, bool unsaved) {
    {
        const std::lock_guard lock(mutex_);
        Wanted next = wanted_;
        next.work.run = std::move(run);
        next.work.run_file = file;
        next.run_unsaved = unsaved;
        change(std::move(next));
    }
    keep_up_later();
}

void Autosave::keep_up_later() {
    const std::lock_guard lock(mutex_);
    worker_.send_later(due_, [this](const std::stop_token&) { keep_up(); });
}

/// One attempt, successful or not: a full disk must not block the caller.
void Autosave::flush() {
    worker_.carry_out([this](const std::stop_token&) { keep_up(); });
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
        dirty_ = nothing_new_ = true;
    }
    keep_up_later();
}

std::string Autosave::problem() const {
    const std::lock_guard lock(mutex_);
    return problem_;
}

void Autosave::keep_up() {
    std::string problem;
    try {
        UnsavedWork work;
        std::optional<AutosaveFolder> adopted;
        bool nothing_new = false;
        {
            const std::lock_guard lock(mutex_);
            if (!dirty_) return;
            work = wanted_.to_keep();
            adopted = std::exchange(adopted_, {});
            nothing_new = nothing_new_;
            dirty_ = false;
        }
        if (adopted) {
            if (folder_) folder_->remove();
            folder_ = std::move(adopted);
            written_ = {};
        }
        if (!nothing_new) write(work);
    } catch (const std::exception& error) {
        problem = message_of(error, "there is not enough memory to autosave");
    }
    bool again = false;
    {
        const std::lock_guard lock(mutex_);
        if (!problem.empty()) dirty_ = true;  // retried after the pause
        problem_ = std::move(problem);
        due_ = Clock::now() + pause_;
        again = dirty_;
    }
    if (again) keep_up_later();
}

void Autosave::write(const UnsavedWork& work) {
    if (work.document == nullptr && work.run == nullptr) {
        if (folder_) folder_->remove();
        folder_.reset();
        written_ = {};
        return;
    }
    const bool same_document = folder_ && work.document == written_.document && work.look == written_.look,
               same_run = folder_ && work.run == written_.run;
    if (same_document && same_run && work.file == written_.file && work.run_file == written_.run_file) return;
    if (!folder_) folder_ = AutosaveFolder::create(parent_);
    // Reset first: if a write fails, none of the work counts as written.
    written_ = {};
    if (!same_document) folder_->write_document(work);
    if (!same_run) folder_->write_run(work);
    folder_->write_words(work);
    written_ = work;
}

}  // namespace attn::app
