/// Keeps the document up to date with the training run.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/session/document/named_runs.hpp"
#include "app/session/session_impl.hpp"
#include "app/session/training/trained_document.hpp"

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
    if (run().run == adopted) return;
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

void Session::Impl::follow() {
    const std::optional<TrainedModel>& trained = document().trained;
    if (!trained || trained->step || trained->run != run().run || is_tracing()) return;
    if (follower.is_due(run(), computed->compute_ms, Follower::Clock::now())) show();
}

}  // namespace attn::app
