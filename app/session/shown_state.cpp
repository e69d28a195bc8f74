/// What is computed of the document, and of what it is compared with.

#include <utility>

#include "app/session/session_impl.hpp"
#include "engine/train/moment_steps.hpp"

namespace attn::app {

void Session::Impl::carry_out(const command::CompareMoment& compare, const std::string&) {
    if (compare.step && run().run != 0) require_step(run().step, *compare.step);
    others.choose(compare.step);
    request_other_moment();
}

void Session::Impl::carry_out(const command::MeasureHeads& measure, const std::string&) {
    std::shared_ptr<const Snapshot> snapshot = analyst.snapshot();
    if (snapshot->trace != nullptr) knock_out.request(std::move(snapshot), measure.question);
}

void Session::Impl::carry_out(const command::StopMeasuring&, const std::string&) { knock_out.cancel(); }

void Session::Impl::carry_out(const command::ReadState& read, const std::string&) { kept_readings.request(read.state); }

void Session::Impl::request_other_moment() {
    const auto of_run = [this](std::int64_t step) { return trainer.moment(run().run, step); };
    const bool possible = document().trained && document().trained->run == run().run && !run().moments.empty();
    others.keep_up(history.current(), run().run, possible ? of_run : std::function<Moment(std::int64_t)>());
}

void Session::Impl::request(Depth depth) {
    request_other_moment();
    if (!document().trained.has_value()) return analyst.request(history.current());
    std::optional<LearnedParameters> parameters = learned_parameters();
    if (!parameters.has_value()) {
        message = "the model of this training run no longer exists";
        return;
    }
    learned = parameters;
    if (!document().trained->step.has_value()) follower.asked(run(), depth, Follower::Clock::now());
    analyst.request(history.current(), std::move(parameters), depth);
}

std::optional<LearnedParameters> Session::Impl::learned_parameters() {
    const TrainedModel& trained = *document().trained;
    if (trained.run == run().run) {
        if (!trained.step.has_value()) return LearnedParameters{run().run, {run().parameters_step, run().parameters}};
        Moment moment = trainer.moment(run().run, *trained.step);
        if (moment.parameters != nullptr) return LearnedParameters{run().run, std::move(moment)};
    }
    // The run is being replaced by another one, which the document will follow in a moment.
    if (learned.has_value() && learned->run == trained.run) return learned;
    return {};
}

}  // namespace attn::app
