#include "app/session/other_moment.hpp"

#include <utility>

namespace attn::app {
namespace {

/// What is compared: the trace and its readings.
Computation only_what_is_compared(Computation computation) {
    computation.verify = {};
    computation.gradients = {};
    computation.sample = {};
    computation.examine = {};
    return computation;
}

}  // namespace

OtherMoment::OtherMoment(Computation computation, std::function<void()> wake)
    : computation_(only_what_is_compared(std::move(computation))), wake_(std::move(wake)) {}

void OtherMoment::choose(std::optional<std::int64_t> step) {
    step_ = step;
    if (!step) asked_.reset();
}

void OtherMoment::keep_up(const std::shared_ptr<const Document>& document, std::uint64_t run,
                          const std::function<Moment(std::int64_t)>& moment) {
    if (!step_) return;
    if (!moment) return asked_.reset();
    Moment chosen = moment(*step_);
    if (chosen.parameters == nullptr) return asked_.reset();
    Document other = *document;
    other.trained->step = chosen.step;
    // What is set for training alone changes nothing that is computed.
    if (asked_ != nullptr) other.run = asked_->run;
    if (asked_ != nullptr && *asked_ == other) return;
    if (analyst_ == nullptr) analyst_ = std::make_unique<Analyst>(computation_, wake_);
    asked_ = std::make_shared<const Document>(std::move(other));
    analyst_->request(asked_, LearnedParameters{run, std::move(chosen)});
}

std::shared_ptr<const Snapshot> OtherMoment::snapshot() const {
    if (asked_ == nullptr) return nullptr;
    std::shared_ptr<const Snapshot> snapshot = analyst_->snapshot();
    // Until the newest request is computed there is nothing: numbers of another text or moment would mislead.
    if (snapshot->document == asked_ && snapshot->problem.empty()) return snapshot;
    Snapshot none;
    if (snapshot->problem_document == asked_) none.problem = snapshot->problem;
    return std::make_shared<const Snapshot>(std::move(none));
}

void OtherMoment::wait() {
    if (asked_ != nullptr) analyst_->wait(true);
}

}  // namespace attn::app
