#pragma once
/// Brings a session to where a step of a lesson wants it, and back to where it was before the lesson.

#include <cstdint>
#include <string>
#include <vector>

#include "app/session/document/commands.hpp"
#include "app/session/lessons/lesson.hpp"
#include "app/session/training/training_report.hpp"

namespace attn::app {

/// A value that knows how far it has come. The same run serves all steps that train the same model from the same seed.
class LessonGoal {
public:
    LessonGoal() = default;
    /// `restart`: a run under way is begun anew even where it could go on.
    explicit LessonGoal(LessonStep step, bool restart = false);

    /// What is to be done now. To be asked after every Session::update() until done().
    std::vector<Command> next(const Document& now, const TrainingReport& training);
    bool done() const { return done_; }
    /// A run that is not the lesson's would have to end: nothing happens before allow().
    bool asks() const { return asks_; }
    void allow() { allowed_ = true; }

private:
    bool is_ours(const TrainingSnapshot& run) const;
    std::vector<Command> begin_run(const TrainingSnapshot& run);
    std::vector<Command> go_on(const Document& now, const TrainingSnapshot& run);
    void show(const TrainingSnapshot& run, std::optional<std::int64_t> moment, std::vector<Command>& commands);

    LessonStep step_;
    bool done_ = true, asks_ = false, allowed_ = false;
    bool restart_ = false, ordered_ = false, started_ = false;
    std::uint64_t replaced_ = 0;  ///< the run that was under way when a new one was ordered
};

/// The document that a step shows: its own, or that of its run.
Document shown_document(const LessonStep& step, const TrainingSnapshot& run);

/// Says that the step's run has come to an end before the moment that the step shows; "" where that is not so.
std::string missing_moment(const LessonStep& step, const TrainingSnapshot& run);

/// What a person has changed since the step was shown, apart from the training run.
bool differs(const LessonStep& step, const Document& now, const TrainingReport& training);

/// Makes `before` the document again. Its run may be gone; then it has freshly drawn parameters.
std::vector<Command> restore_document(const Document& before, const TrainingReport& training);

}  // namespace attn::app
