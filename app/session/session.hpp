#pragma once
/// The document with its undo history, and the workers that compute what is shown of it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/document/commands.hpp"
#include "app/session/document/memory_budget.hpp"
#include "app/session/files/files_state.hpp"
#include "app/session/files/write_file.hpp"
#include "app/session/training/live_run.hpp"
#include "app/session/training/training_report.hpp"
#include "app/session/values/results.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

struct Computation;
struct DoctorReport;

/// To be used from the UI thread only. Only the wait functions, get() and compute() block.
class Session {
public:
    /// Starts the workers and requests the first trace. `wake` is called from workers when there is something new to show. `memory_mib`
    /// limits the memory of computed results.
    Session(Document document, std::function<void()> wake, double memory_mib = default_memory_budget_mib());
    /// The same with other engine calls, for tests.
    Session(Document document, std::function<void()> wake, Computation computation, TrainingEngine training = TrainingEngine::engine(),
            double memory_mib = default_memory_budget_mib());
    ~Session();  ///< stops and joins the workers
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const Document& document() const;
    std::shared_ptr<const Document> shared_document() const;  ///< the same
    /// Applies a user action. Invalid input does not throw: see message().
    void apply(const Command& command);
    /// To be called once per frame: collects news from the training run and the other workers, and updates a document that follows the run.
    void update();
    /// As of the last update().
    const TrainingReport& training() const;
    /// The shown state with its trace; never null.
    std::shared_ptr<const Snapshot> snapshot() const;
    /// Whether the snapshot shows the current document (for a running training run, any recent moment of it), or says why that cannot be
    /// computed and shows all changes but those that cannot.
    bool is_up_to_date() const;
    /// How much of the document's pass is computed, from 0 to 1, if that takes long.
    std::optional<double> share_computed() const;
    /// Whether snapshot() is of the document, though layers that nobody looks at may still be missing.
    bool shows_document() const;
    /// Whether the document will be shown by the beginning of its pass, which takes much less than the pass.
    bool begins_soon() const;
    /// To be called when a picture of the shown state is on screen: the rest of its pass, which would have delayed it, goes on.
    void drawn();
    /// The shown state and the states it can be compared with.
    const States& states() const;
    /// What a frame draws of these, all of one moment.
    struct Shown {
        std::shared_ptr<const Snapshot> snapshot;
        States states;
        bool up_to_date = true;  ///< is_up_to_date()
        bool outdated = false;   ///< the snapshot belongs to the document before the last change
    };
    Shown shown() const;
    /// The step chosen by CompareMoment.
    std::optional<std::int64_t> other_step() const;
    /// The results computed so far.
    Results results() const;
    /// Sets the facets that views need besides the shown trace; replaces the previous ones.
    void want(std::vector<Request> requests);
    /// The doctor's report on the attention dump opened last; null if none was.
    std::shared_ptr<const DoctorReport> dump() const;

    // For rendering without a window, commands and tests:

    /// Waits until the document's state is shown or has a problem; for a running training run, its newest known moment.
    std::shared_ptr<const Snapshot> wait();
    /// Waits until the attention dump opened last has been examined. Returns why it could not be, or "".
    std::string wait_for_dump();
    /// Waits until the request has a value or a problem.
    Results wait_for(const Request& request);
    /// Computes a facet of the document's state. Throws Error if it cannot be computed.
    template <class F>
    std::shared_ptr<const typename F::Value> get(const F& facet) {
        const Answer<F> answer = compute(facet);
        if (!answer) throw Error(answer.problem);
        return answer.value;
    }
    /// The same, but returns the problem instead of throwing.
    template <class F>
    Answer<F> compute(const F& facet) {
        const std::shared_ptr<const Snapshot> snapshot = wait();
        if (snapshot->state == nullptr) return {nullptr, snapshot->problem};
        return compute(snapshot->state, facet);
    }
    /// The same for any state.
    template <class F>
    Answer<F> compute(const StateRef& state, const F& facet) {
        return wait_for({state, facet}).find(state, facet);
    }
    /// Waits until the trainer has executed all orders and no run is running, then calls update(). Also for these uses only.
    void wait_for_training();

    /// Whether tokens are being generated, or will be once the text before them is computed.
    bool is_writing() const;
    /// Why generation last ended early, "" if it did not.
    const std::string& writing_problem() const;
    /// Waits until generation has ended and its end is shown. Also for these uses only.
    void wait_for_writing();

    /// Waits until all file operations are done, then calls update(). Also for these uses only.
    void wait_for_files();

    /// As of the last update().
    const FilesState& files() const;
    /// Passes training runs to `keep` from now on, called on the training worker.
    void hand_runs_over_to(KeepRun keep);

    /// Exports a file in the background. A notice says when it is done, or why it could not be written.
    void write_file(const std::filesystem::path& path, WriteFile write);
    /// Sets the files and models opened in earlier sessions.
    void set_recent_files(std::vector<std::string> recent, std::vector<std::string> models = {});

    bool can_undo() const;
    bool can_redo() const;
    /// What they would change, such as "the text"; "" if there is nothing.
    std::string_view undone_part() const;
    std::string_view redone_part() const;
    /// There is nothing to undo from here: what was there before was never shown.
    void begin_here();
    /// Why the last command failed, such as a preset that does not exist; "" if it succeeded.
    const std::string& message() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace attn::app
