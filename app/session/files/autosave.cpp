#include "app/session/files/autosave.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "app/session/document/named_runs.hpp"
#include "app/session/threads/scarce_memory.hpp"

namespace attn::app {
namespace {

std::string words_for(const HandedRun& run) {
    if (run.contents == nullptr) return "";
    const Checkpoint& checkpoint = run.contents->checkpoint;
    return fmt::format("{}, step {}", task_info(checkpoint.settings.task.kind).title, checkpoint.steps);
}

}  // namespace

Autosave::Autosave(std::filesystem::path parent, std::chrono::milliseconds pause) : parent_(std::move(parent)), pause_(pause) {}

Autosave::~Autosave() = default;

UnsavedWork Autosave::Wanted::to_keep() const {
    const NamedRuns named = document == nullptr ? NamedRuns() : named_runs(*document);
    const auto is_unsaved = [](const auto& entry) { return entry.second.unsaved; };
    const bool any_unsaved = std::any_of(runs.begin(), runs.end(), is_unsaved);
    UnsavedWork kept;
    if (!document_unsaved && !any_unsaved) return kept;
    kept = {.document = document, .file = file, .runs = {}, .look = look};
    for (const auto& [number, run] : runs)
        if (run.unsaved || (document_unsaved && named.contains(number))) kept.runs.push_back(run);
    std::stable_partition(kept.runs.begin(), kept.runs.end(), [&](const UnsavedRun& run) { return run.number != current; });
    return kept;
}

void Autosave::keep_document(std::shared_ptr<const Document> document, const std::filesystem::path& file, bool unsaved,
                             const std::optional<Look>& look) {
    {
        const std::lock_guard lock(mutex_);
        if (wanted_.document == document && wanted_.document_unsaved == unsaved && wanted_.file == file && wanted_.look == look) return;
        wanted_.document = std::move(document);
        wanted_.file = file;
        wanted_.look = look;
        wanted_.document_unsaved = unsaved;
        dirty_ = true;
    }
    keep_up_later();
}

void Autosave::keep_run(const HandedRun& handed) {
    {
        const std::lock_guard lock(mutex_);
        if (handed.gone) {
            wanted_.runs.erase(handed.run);
        } else {
            wanted_.runs[handed.run] = {handed.run, ++versions_, handed.contents, handed.file, words_for(handed), handed.unsaved};
            if (handed.current) wanted_.current = handed.run;
        }
        dirty_ = true;
    }
    keep_up_later();
}

void Autosave::keep_up_later() {
    const std::lock_guard lock(mutex_);
    worker_.send_later(due_, [this](const std::stop_token&) { keep_up(); });
}

/// One attempt, successful or not: a full disk must not block the caller.
void Autosave::flush() {
    worker_.send_and_wait([this](const std::stop_token&) { keep_up(); });
}

void Autosave::discard() {
    {
        const std::lock_guard lock(mutex_);
        wanted_ = {};
        dirty_ = true;
    }
    flush();
}

void Autosave::adopt(AutosaveFolder folder) {
    const std::lock_guard lock(mutex_);
    adopted_ = std::move(folder);
}

std::string Autosave::problem() const {
    const std::lock_guard lock(mutex_);
    return problem_;
}

void Autosave::keep_up() {
    std::string problem;
    std::optional<AutosaveFolder> adopted;
    try {
        UnsavedWork work;
        {
            const std::lock_guard lock(mutex_);
            if (!dirty_) return;
            work = wanted_.to_keep();
            adopted = std::exchange(adopted_, {});
            dirty_ = false;
        }
        write(work);
        if (adopted) adopted->remove();
    } catch (const std::exception& error) {
        problem = message_of(error, "there is not enough memory to autosave");
    }
    bool again = false;
    {
        const std::lock_guard lock(mutex_);
        if (problem.empty()) {
            release_written();
        } else {
            dirty_ = true;  // retried after the pause
            if (adopted) adopted_ = std::move(adopted);
        }
        problem_ = std::move(problem);
        due_ = Clock::now() + pause_;
        again = dirty_;
    }
    if (again) keep_up_later();
}

void Autosave::release_written() {
    for (const UnsavedRun& written : written_.runs)
        if (const auto found = wanted_.runs.find(written.number); found != wanted_.runs.end() && found->second.version == written.version)
            found->second.contents.reset();
}

void Autosave::write(const UnsavedWork& work) {
    if (work.document == nullptr && work.runs.empty()) {
        if (folder_) folder_->remove();
        folder_.reset();
        written_ = {};
        about_.clear();
        is_about_ = false;
        return;
    }
    if (!folder_) folder_ = AutosaveFolder::create(parent_);
    // A part counts as written once it is.
    const NamedRuns named = work.document == nullptr ? NamedRuns() : named_runs(*work.document);
    const auto among = [](const std::vector<UnsavedRun>& runs, std::uint64_t number) {
        return std::find_if(runs.begin(), runs.end(), [&](const UnsavedRun& run) { return run.number == number; });
    };
    for (const UnsavedRun& run : work.runs) {
        const auto before = among(written_.runs, run.number);
        const bool is_written = before != written_.runs.end() && before->version == run.version;
        if (run.in_file() || is_written) continue;
        const auto steps = named.find(run.number);
        folder_->write_run(run, steps == named.end() ? std::set<std::int64_t>() : steps->second);
        if (before != written_.runs.end()) written_.runs.erase(before);
        written_.runs.push_back(run);
        written_.runs.back().contents.reset();
    }
    const bool same_document = is_about_ && work.document == written_.document && work.look == written_.look;
    if (same_document && work.file == written_.file && work.runs == about_) return;
    is_about_ = false;
    if (!same_document) folder_->write_document(work);
    folder_->write_words(work);
    folder_->remove_runs_except(work.runs);
    std::erase_if(written_.runs, [&](const UnsavedRun& run) { return among(work.runs, run.number) == work.runs.end(); });
    written_.document = work.document;
    written_.file = work.file;
    written_.look = work.look;
    about_ = work.runs;
    for (UnsavedRun& run : about_) run.contents.reset();
    is_about_ = true;
}

}  // namespace attn::app
