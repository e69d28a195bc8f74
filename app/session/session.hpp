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
#include "app/session/facets/results.hpp"
#include "app/session/facets/snapshot.hpp"
#include "app/session/files/files_state.hpp"
#include "app/session/training/live_run.hpp"
#include "app/session/training/training_report.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

struct Computation;
struct DoctorReport;

/// Used from the UI thread only. Holds no lock while anything is computed or drawn.
class Session {
public:
    /// Starts the workers and asks for the first trace. `wake` is called from a worker when something new can be shown. What is computed
    /// may take `memory_mib`.
    Session(Document document, std::function<void()> wake, double memory_mib = default_memory_budget_mib());
    /// The same with other engine calls; for tests.
    Session(Document document, std::function<void()> wake, Computation computation, TrainingEngine training = TrainingEngine::engine(),
            double memory_mib = default_memory_budget_mib());
    ~Session();  ///< stops and joins the workers
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const Document& document() const;
    std::shared_ptr<const Document> shared_document() const;  ///< the same
    /// Applies one user action; never throws for bad user input: see message().
    void apply(const Command& command);
    /// To be called once a frame: takes over what the training run has sent, and lets a document that follows it keep up.
    void update();
    /// As of the last update().
    const TrainingReport& training() const;
    /// The state that is shown; never null.
    std::shared_ptr<const Snapshot> snapshot() const;
    /// It is the document's, perhaps a moment of the run that is followed ago, or says why that cannot be computed.
    bool is_up_to_date() const;
    /// That state, and what it can be compared with.
    const States& states() const;
    /// The step that CompareMoment chose.
    std::optional<std::int64_t> other_step() const;
    /// What has been computed so far.
    Results results() const;
    /// What views show, beside the trace of the shown state; takes the place of what they wanted before.
    void want(std::vector<Request> requests);
    /// What the doctor says of the file opened last; null before the first.
    std::shared_ptr<const DoctorReport> dump() const;

    // For rendering without a window, commands and tests:

    /// Waits until the document's state is shown, or its problem; of a run that is followed, the newest moment that is known.
    std::shared_ptr<const Snapshot> wait();
    /// Waits until the file opened last is examined.
    void wait_for_dump();
    /// Waits until that is computed, or cannot be.
    Results wait_for(const Request& request);
    /// A facet of the document's state. Throws Error where it cannot be computed.
    template <class F>
    std::shared_ptr<const typename F::Value> get(const F& facet) {
        const Answer<F> answer = compute(facet);
        if (!answer) throw Error(answer.problem);
        return answer.value;
    }
    /// The same, or why there is none.
    template <class F>
    Answer<F> compute(const F& facet) {
        const std::shared_ptr<const Snapshot> snapshot = wait();
        if (snapshot->state == nullptr) return {nullptr, snapshot->problem};
        return compute(snapshot->state, facet);
    }
    /// Of any state.
    template <class F>
    Answer<F> compute(const StateRef& state, const F& facet) {
        return wait_for({state, facet}).find(state, facet);
    }
    /// Waits until every training order is carried out and no run is running any more, then does update(). For the same uses.
    void wait_for_training();

    /// Tokens are being written, or will be as soon as what they follow is computed.
    bool is_writing() const;
    /// Why the last writing ended before all its tokens were there, "" when it did not.
    const std::string& writing_problem() const;
    /// Waits until nothing is being written on any more and the end of it is shown. For the same uses.
    void wait_for_writing();

    /// Waits until nothing is being read or written any more, then does update(). For the same uses.
    void wait_for_files();

    /// As of the last update().
    const FilesState& files() const;
    /// From now on the training runs are handed to `keep`, from the worker that trains.
    void hand_runs_over_to(KeepRun keep);

    /// What was opened before this session.
    void set_recent_files(std::vector<std::string> recent, std::vector<std::string> models = {});

    bool can_undo() const;
    bool can_redo() const;
    /// What the last command could not do, such as a preset that does not exist; "" when it could.
    const std::string& message() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace attn::app
