#pragma once
/// The document with its undo history, and the workers that turn it into snapshots.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/session/commands.hpp"
#include "app/session/files_state.hpp"
#include "app/session/knock_out_report.hpp"
#include "app/session/live_run.hpp"
#include "app/session/snapshot.hpp"
#include "app/session/training_report.hpp"

namespace attn::app {

struct Computation;

/// Used from the UI thread only. Holds no lock while anything is computed or drawn.
class Session {
public:
    /// Starts the workers and asks for the first trace. `wake` is called from a worker when something new can be shown.
    Session(Document document, std::function<void()> wake);
    /// The same with other engine calls; for tests.
    Session(Document document, std::function<void()> wake, Computation computation, TrainingEngine training = TrainingEngine::engine());
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
    /// How far the measuring of heads is that MeasureHeads asked for.
    KnockOutReport knock_out() const;
    /// Waits until nothing is being measured any more.
    void wait_for_knock_out();
    /// Of the state that ReadState named last.
    ReadingsReport kept_readings() const;
    /// Waits until they are there.
    void wait_for_kept_readings();
    /// What the doctor says of the file opened last; null before the first.
    std::shared_ptr<const DoctorReport> dump() const;
    /// Waits until it is there. For rendering without a window and tests.
    void wait_for_dump();
    /// Newest snapshot; never null.
    std::shared_ptr<const Snapshot> snapshot() const;
    /// The same document at the moment that CompareMoment chose; null when none is. Its trace is null until it is computed.
    std::shared_ptr<const Snapshot> other_moment() const;
    /// That moment's step.
    std::optional<std::int64_t> other_step() const;
    /// Waits until it is computed. For rendering without a window and tests.
    void wait_for_other_moment();
    /// Waits until the newest document has its trace and baseline (and, if asked, its verification), or its problem. For rendering
    /// without a window and tests.
    std::shared_ptr<const Snapshot> wait(bool verified);
    /// Waits until every training order is carried out and no run is running any more, then does update(). For the same uses.
    void wait_for_training();

    /// Waits until nothing is being read or written any more, then does update(). For the same uses.
    void wait_for_files();

    /// As of the last update().
    const FilesState& files() const;
    /// From now on the training runs are handed to `keep`, from the worker that trains.
    void hand_runs_over_to(KeepRun keep);

    /// What was opened before this session.
    void set_recent_files(std::vector<std::string> recent);

    bool can_undo() const;
    bool can_redo() const;
    /// What the last command could not do, such as a preset that does not exist; "" when it could.
    const std::string& message() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace attn::app
