/// Keeps the document up to date with the training run.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/session/document/named_runs.hpp"
#include "app/session/document/recording_document.hpp"
#include "app/session/session_impl.hpp"
#include "app/session/training/trained_document.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

void Session::Impl::tell_notice_of_run() {
    if (std::exchange(notices, run().notices) != run().notices) files.tell(run().notice, run().refused);
}

void Session::Impl::adopt_new_run() {
    if (taken_up) {
        const auto is_opened = [this](std::uint64_t order) { return outcome_of(order) != nullptr; };
        if (std::all_of(orders.begin(), orders.end(), is_opened)) finish_opening();
        return;
    }
    // A run that is opened again is shown, even if it is the current one and the document has turned to something else.
    const OpenedRun* opened = outcome_of(opening);
    const bool again = opened != nullptr && opened->run != 0 && opened->run == run().run;
    if (opened != nullptr) opening = 0;
    if (run().run == adopted && !again) return;
    adopted = run().run;
    const bool is_new = adopted > std::exchange(newest_adopted, std::max(newest_adopted, adopted)) && !run().from_file;
    // The document already belongs to this run, which was made current again.
    if (document().trained && document().trained->run == adopted) {
        probe = probe_of(run());
        return show();
    }
    adopt_run_of_document(!is_new);
}

void Session::Impl::adopt_run_of_document(bool reopened) {
    Document next = document_of_run(document(), run(), {}, probe);
    probe = probe_of(run());
    if (reopened) next.run = run().settings;
    const std::size_t edits = document().forward.edits.size(), kept = next.forward.edits.size();
    const bool nothing_lost = !files.state().would_be_lost;
    change(std::move(next), "");
    // What is saved next must not replace the file of the document before.
    if (run().from_file || !run_folder_of(files.state().document).empty()) begin_subject({}, history.current());
    if (nothing_lost) files.set_made_by_run(history.current());
    if (kept < edits)
        files.tell(fmt::format("The run has a different model: {} stayed with the previous one. Undo goes back to it.",
                               edits == 1 ? "the edit" : fmt::format("{} edits", edits)),
                   false);
}

void Session::Impl::follow_recording() {
    const std::optional<RecordedNumbers>& shown_numbers = document().recorded;
    recordings.watch(shown_numbers ? shown_numbers->recording : nullptr);
    files.set_logged(recordings.logged());
    const std::shared_ptr<const OpenedRecording> grown = recordings.take();
    if (grown == nullptr || !shown_numbers) return;
    const bool follows = shown_numbers->step == shown_numbers->recording->steps().back();
    const bool restarted = grown->recording().run != shown_numbers->recording->recording().run;
    try {
        if (follows || restarted) return replace(moved_to(grown, {}, shown_numbers->group, document()), "recorded step");
    } catch (const Error&) {
        return;  // its newest step cannot be drawn; the last one stays
    }
    Document next = document();
    next.recorded->recording = grown;
    next.recorded_files = grown->recording().files;
    replace(std::move(next), "recorded step");
}

void Session::Impl::follow() {
    const std::optional<TrainedModel>& trained = document().trained;
    if (!trained || trained->step || trained->run != run().run || is_tracing()) return;
    if (follower.is_due(run(), computed->compute_ms, Follower::Clock::now())) show();
}

}  // namespace attn::app
