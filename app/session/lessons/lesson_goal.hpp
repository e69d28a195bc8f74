#pragma once
/// Brings a session to the state that a lesson step describes, and back to where it was before the lesson.

#include <cstdint>
#include <string>
#include <vector>

#include "app/session/document/commands.hpp"
#include "app/session/lessons/lesson.hpp"
#include "app/session/training/training_report.hpp"

namespace attn::app {

/// A value type that tracks its progress. Steps that train the same model from the same seed share one run.
class LessonGoal {
public:
    LessonGoal() = default;
    /// `restart`: starts the run again even if the current one could be continued.
    explicit LessonGoal(LessonStep step, bool restart = false);

    /// The commands to apply now. To be called after every Session::update() until done().
    std::vector<Command> next(const Document& now, const TrainingReport& training);
    bool done() const { return done_; }
    /// Whether another run would have to be stopped; then nothing happens until allow().
    bool asks() const { return asks_; }
    void allow() { allowed_ = true; }

private:
    bool is_ours(const RunStatus& run) const;
    std::vector<Command> begin_run(const RunStatus& run);
    std::vector<Command> go_on(const Document& now, const RunStatus& run);
    void show(const RunStatus& run, std::optional<std::int64_t> moment, std::vector<Command>& commands);

    LessonStep step_;
    bool done_ = true, asks_ = false, allowed_ = false;
    bool restart_ = false, ordered_ = false, started_ = false;
    std::uint64_t replaced_ = 0;  ///< the run that was current when a new one was requested
};

/// The document that a step shows: its own, or the one of its run.
Document shown_document(const LessonStep& step, const RunStatus& run);

/// The message that the step's run ended before the moment that the step shows; "" if it did not.
std::string missing_moment(const LessonStep& step, const RunStatus& run);

/// Whether the user has changed anything since the step was shown, apart from the training run.
bool differs(const LessonStep& step, const Document& now, const TrainingReport& training);

/// Restores the document `before`. If its run no longer exists, it has freshly initialised parameters.
std::vector<Command> restore_document(const Document& before, const TrainingReport& training);

}  // namespace attn::app
