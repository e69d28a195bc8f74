/// Requests the document's state and the states it is compared with.

#include <algorithm>
#include <limits>
#include <utility>

#include "app/session/facets/doctor_report.hpp"
#include "app/session/session_impl.hpp"
#include "engine/tensor/error.hpp"
#include "engine/train/moment_steps.hpp"

namespace attn::app {

void Session::Impl::carry_out(const command::CompareMoment& compare, const std::string&) {
    if (compare.step && run().run != 0) require_step(run().step, *compare.step);
    other_step = compare.step;
    derive_states();
}

void Session::Impl::carry_out(const command::Pin& pin, const std::string& merge) {
    Document next = document();
    std::optional<State>& place = pin.b ? next.pins.b : next.pins.a;
    place.reset();
    if (pin.state != nullptr) place = *pin.state;
    change(std::move(next), merge);
}

// Opening a file again reads it again.
void Session::Impl::carry_out(const command::OpenDump& open, const std::string&) {
    dump = facet::Dump{open.path.string(), dump ? dump->opening + 1 : 0};
    order();
}

std::optional<Source> Session::Impl::source_of_document() {
    if (!document().trained) return Drawn{};
    const TrainedModel& trained = *document().trained;
    if (trained.run == run().run) {
        if (!trained.step) return MomentOfRun{run().run, run().parameters_step, run().parameters};
        Moment moment = trainer.moment(run().run, *trained.step);
        if (moment.parameters != nullptr) return MomentOfRun{run().run, moment.step, std::move(moment.parameters)};
    }
    if (is_kept(trained.run)) {
        constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();
        Moment moment = trainer.moment(trained.run, trained.step.value_or(kNewest));
        if (moment.parameters != nullptr) return MomentOfRun{trained.run, moment.step, std::move(moment.parameters)};
    }
    // The run is being replaced; the document will follow the new one shortly.
    const MomentOfRun* last = asked == nullptr ? nullptr : moment_of(*asked);
    if (last != nullptr && last->run == trained.run) return *last;
    return {};
}

void Session::Impl::show() {
    std::optional<Source> source = source_of_document();
    if (!source) {
        message = "the model of this training run no longer exists";
        return;
    }
    const Setup& setup = document();
    const bool same_setup = asked != nullptr && *asked->setup == setup;
    asked = table.find({same_setup ? asked->setup : std::make_shared<const Setup>(setup), std::move(*source)});
    if (document().trained && !document().trained->step) follower.shown(run(), Follower::Clock::now());
    refresh();
    order();
}

void Session::Impl::refresh() {
    const std::shared_ptr<const Fact> fact = scheduler.results().find({asked, facet::Trace{}});
    if (fact == nullptr || !fact->settled()) return;
    if (fact->value != nullptr) {
        const Results results = scheduler.results();
        for (const Request& request : ahead())
            if (const auto known = results.find(request); known == nullptr || !known->settled()) return;
        computed = std::static_pointer_cast<const Snapshot>(fact->value);
        if (shown == computed) return;
        shown = computed;
        writer.keep_only(shown->trace->parameters.get());
        return derive_states();
    }
    if (shown->problem == fact->problem && shown->problem_field == fact->field) return;
    Snapshot last = *computed;
    last.problem = fact->problem;
    last.problem_field = fact->field;
    shown = std::make_shared<const Snapshot>(std::move(last));
}

StateRef Session::Impl::other_moment_of(const State& state) {
    const MomentOfRun* own = moment_of(state);
    if (!other_step || own == nullptr || own->run != run().run || run().moments.empty()) return nullptr;
    Moment moment = trainer.moment(run().run, *other_step);
    if (moment.parameters == nullptr) return nullptr;
    return table.find({state.setup, MomentOfRun{own->run, moment.step, std::move(moment.parameters)}});
}

void Session::Impl::derive_states() {
    const auto find = [this](std::optional<State> state) { return state ? table.find(std::move(*state)) : nullptr; };
    States next;
    next.shown = shown->state;
    if (next.shown != nullptr) {
        next.unedited = find(without_edits(*next.shown));
        next.unmasked = find(without_masks(*next.shown));
        next.correct = find(without_mistake(*next.shown));
        next.other_moment = other_moment_of(*next.shown);
    }
    next.pinned_a = find(document().pins.a);
    next.pinned_b = find(document().pins.b);
    states = std::move(next);
}

std::vector<Request> Session::Impl::ahead() const {
    std::vector<Request> requests;
    if (asked == states.shown || states.shown == nullptr) return requests;
    for (const Request& request : wanted)
        if (request.state == states.shown && comes_with_trace(request)) requests.push_back({asked, request.facet});
    return requests;
}

bool Session::Impl::is_tracing() const {
    const std::shared_ptr<const Fact> fact = scheduler.results().find({asked, facet::Trace{}});
    return fact == nullptr || !fact->settled() || (fact->value != nullptr && computed->state != asked);
}

bool Session::Impl::is_following() const {
    const std::optional<TrainedModel>& trained = document().trained;
    return trained && !trained->step && trained->run == run().run && run().phase == TrainingPhase::Running;
}

void Session::Impl::order() {
    std::vector<Request> all{{asked, facet::Trace{}}};
    const auto add = [&all](const Request& request) {
        if (std::find(all.begin(), all.end(), request) == all.end()) all.push_back(request);
    };
    for (const Request& request : ahead()) add(request);
    if (dump) add({nullptr, *dump});
    // Slow facets of a state that is about to be replaced would only delay its successor.
    const bool replaced = is_tracing() && !is_following();
    for (const Request& request : wanted)
        if (!replaced || request.state != states.shown || info_of(request.facet).lane == Lane::Prompt) add(request);
    if (awaited) add(*awaited);
    scheduler.want(std::move(all), is_following());
}

Results Session::Impl::wait_for(const Request& request) {
    if (std::find(wanted.begin(), wanted.end(), request) == wanted.end()) wanted.push_back(request);
    awaited = request;
    order();
    scheduler.wait_for(request);
    awaited.reset();
    return scheduler.results();
}

}  // namespace attn::app
