/// Requests the document's state and the states it is compared with.

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include "app/session/document/held_models.hpp"
#include "app/session/document/named_runs.hpp"
#include "app/session/document/writing.hpp"
#include "app/session/facets/ask.hpp"
#include "app/session/session_impl.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/states/setup_parts.hpp"
#include "app/session/values/doctor_report.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/model/outline.hpp"
#include "engine/tensor/error.hpp"
#include "engine/train/moment_steps.hpp"

namespace attn::app {
namespace {

/// A pass that takes less time is shown as a whole: a frame in between would delay the picture more than it would show sooner.
constexpr double kLongPassMs = 6;

/// After a pass that took longer, the parts of many layers are not awaited but shown as they come: together they take as long again.
constexpr double kPatienceMs = 300;
constexpr std::size_t kFewParts = 3;

/// A beginning is held beside the complete pass for a moment. Of a long text and a late layer it would be nearly as large.
constexpr double kMostMibBefore = 32;

/// What an outline holds of the layers before a node, MiB.
double mib_before(const Trace<float>& outline, std::size_t place) {
    const std::vector<PlanNode>& nodes = outline.plan->nodes();
    double mib = 0;
    for (std::size_t i = 0; i < place; ++i)
        if (outline.find(nodes[i].id) != nullptr) mib += mib_of_stage(outline, nodes[i].id);
    return mib;
}

/// Whether only the beginning of a pass is known.
bool lacks_layers(const Snapshot& snapshot) {
    return snapshot.trace != nullptr && !snapshot.trace->whole() && !is_complete(*snapshot.trace);
}

/// Whether numbers of `known` may stay on screen while `asked` cannot be computed. A model whose settings are being changed by hand has
/// lost its trained parameters, but it is still the one on screen; its texts are then the same.
bool is_same_model(const State& known, const State& asked) {
    const Setup &before = *known.setup, &now = *asked.setup;
    if (before.model != now.model) return false;
    const MomentOfRun *then = moment_of(known), *moment = moment_of(asked);
    const bool same_run = (then == nullptr ? 0 : then->run) == (moment == nullptr ? 0 : moment->run);
    if (before.shipped == now.shipped && (then == nullptr) == (moment == nullptr) && same_run) return true;
    return now.shipped == nullptr && moment == nullptr && before.texts == now.texts;
}

/// The part of a state that a problem is about; none if no single one.
SetupParts part_of(Field field) {
    switch (field) {
    case Field::None:
        return {};
    case Field::Texts:
    case Field::SourceTexts:
        return SetupParts::of(SetupPart::Text);
    case Field::Window:
    case Field::Prefix:
    case Field::Block:
    case Field::Painted:
        return SetupParts::of(SetupPart::Masks);
    case Field::Temperature:
    case Field::AttentionDropout:
    case Field::ResidualDropout:
    case Field::EmbeddingDropout:
        return SetupParts::of(SetupPart::Softmax);
    case Field::DModel:
    case Field::Heads:
    case Field::KeyHeads:
    case Field::HeadSize:
    case Field::Layers:
    case Field::FeedForward:
    case Field::ContextLength:
    case Field::LayerNormEps:
    case Field::RotaryBase:
        return SetupParts::of(SetupPart::Model);
    }
    return {};
}

}  // namespace

void Session::Impl::carry_out(const command::CompareMoment& compare, const std::string&) {
    if (compare.step && run().run == 0) throw Error("there is no training run yet");
    if (compare.step) require_step(run().step, *compare.step);
    other_step.reset();
    if (compare.step) other_step = take_moment_near(run().run, *compare.step).step;
    derive_states();
}

void Session::Impl::carry_out(const command::Pin& pin, const std::string& merge) {
    Document next = document();
    std::optional<State>& place = pin.b ? next.pins.b : next.pins.a;
    place.reset();
    if (!pin.b) next.pins.a_reads_along = false;
    if (pin.state != nullptr) place = *pin.state;
    change(std::move(next), merge);
}

// Opening a file again reads it again.
void Session::Impl::carry_out(const command::OpenDump& open, const std::string&) {
    dump = facet::Dump{open.path.string(), dump ? dump->opening + 1 : 0};
    order();
}

std::optional<Source> Session::Impl::source_of_document() {
    if (document().recorded) return *document().recorded;
    if (!document().trained) return Drawn{};
    const TrainedModel& trained = *document().trained;
    if (is_missing(trained.run)) return MomentOfRun{trained.run, trained.step.value_or(0), nullptr};
    constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();
    Moment moment;
    if (trained.step) moment = take_moment(trained.run, *trained.step);
    else if (trained.run == run().run) moment = {run().parameters_step, run().parameters};
    else moment = trainer.moment_near(trained.run, kNewest);
    if (moment.parameters != nullptr) return MomentOfRun{trained.run, moment.step, std::move(moment.parameters), task_of(trained.run)};
    // The run is being replaced; the document will follow the new one shortly.
    const MomentOfRun* last = asked == nullptr ? nullptr : moment_of(*asked);
    if (last != nullptr && last->run == trained.run && last->step == trained.step.value_or(last->step)) return *last;
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
    const StateRef before = asked;
    asked = goal = table.find({same_setup ? asked->setup : std::make_shared<const Setup>(setup), std::move(*source)});
    // What could not be computed is most likely the same: its stand-in can be computed meanwhile.
    const bool held_stays = stand_in != nullptr && !(differing_parts(*before, *asked) & held).any();
    stand_in = held_stays ? table.find(with_parts_of(*asked, *computed->state, held)) : nullptr;
    if (document().trained && !document().trained->step) follower.shown(run(), Follower::Clock::now());
    refresh();
    order();
}

void Session::Impl::show_computed(std::shared_ptr<const Snapshot> snapshot) {
    computed = std::move(snapshot);
    if (shown == computed) return;
    shown = computed;
    writer.keep_only(shown->trace->parameters.get());
    derive_states();
}

bool Session::Impl::is_ready(const Snapshot& next, const Results& results, bool is_begun) const {
    std::size_t open = 0, parts = 0;
    for (const Request& request : ahead()) {
        if (!results.is_open(request) || (is_begun && !looks_at(request))) continue;
        ++open;
        if (request.facet.as<facet::Inside>() != nullptr) ++parts;
    }
    return open == 0 || (next.compute_ms > kPatienceMs && parts > kFewParts);
}

void Session::Impl::show_beginning(const Results& results) {
    const std::shared_ptr<const Fact> fact = computed->state == goal ? nullptr : results.begun(goal);
    if (fact == nullptr) return;
    const auto pass = Results::answer<facet::Beginning>(fact.get()).value;
    if (is_ready(pass->snapshot, results, true)) show_computed({pass, &pass->snapshot});
}

void Session::Impl::complete_shown(const Results& results) {
    if (!lacks_layers(*computed)) return;
    const auto known = results.find(computed->state, facet::Trace{});
    if (!known) return;
    if (shown == computed) return show_computed(known.value);
    Snapshot last = *known;
    last.problem = shown->problem;
    last.problem_field = shown->problem_field;
    computed = known.value;
    shown = std::make_shared<const Snapshot>(std::move(last));
}

void Session::Impl::tell_problem(const Fact& failure) {
    if (shown->problem == failure.problem && shown->problem_field == failure.field) return;
    Snapshot last = *computed;
    last.problem = failure.problem;
    last.problem_field = failure.field;
    shown = std::make_shared<const Snapshot>(std::move(last));
}

void Session::Impl::show_stand_in(const Fact& failure, const Results& results) {
    const SetupParts differing = differing_parts(*asked, *computed->state);
    if (stand_in == nullptr) {
        held = part_of(failure.field) & differing;
        if (!held.any()) held = differing;
        stand_in = table.find(with_parts_of(*asked, *computed->state, held));
    }
    goal = stand_in;
    if (goal == computed->state) return;
    const std::shared_ptr<const Fact> fact = results.find({goal, facet::Trace{}});
    if (fact == nullptr || !fact->settled()) return show_beginning(results);
    if (fact->value == nullptr) {  // it cannot be computed either
        held = differing;
        stand_in = goal = computed->state;
        return;
    }
    const auto next = std::static_pointer_cast<const Snapshot>(fact->value);
    if (is_ready(*next, results, false)) show_computed(next);
    else show_beginning(results);
}

void Session::Impl::refresh() {
    const Results results = scheduler.results();
    seen = results.of({{asked, facet::Trace{}}});
    complete_shown(results);
    const std::shared_ptr<const Fact> fact = results.find({asked, facet::Trace{}});
    if (fact == nullptr || !fact->settled()) return show_beginning(results);
    if (fact->value != nullptr) {
        stand_in = nullptr;
        const auto next = std::static_pointer_cast<const Snapshot>(fact->value);
        return is_ready(*next, results, false) ? show_computed(next) : show_beginning(results);
    }
    if (computed->state != nullptr && !is_same_model(*computed->state, *asked)) {
        stand_in = nullptr;
        goal = asked;
        computed = std::make_shared<const Snapshot>();
        tell_problem(*fact);
        return derive_states();
    }
    if (computed->state != nullptr) show_stand_in(*fact, results);
    tell_problem(*fact);
}

StateRef Session::Impl::other_moment_of(const State& state) {
    const MomentOfRun* own = moment_of(state);
    if (!other_step || own == nullptr) return nullptr;
    Moment moment = take_moment(own->run, *other_step);
    if (moment.parameters == nullptr) return nullptr;
    return table.find({state.setup, MomentOfRun{own->run, moment.step, std::move(moment.parameters), own->task}});
}

std::optional<State> Session::Impl::pinned_a() const {
    std::optional<State> pinned = document().pins.a;
    if (!pinned || !document().pins.a_reads_along || shown->state == nullptr) return pinned;
    Setup setup = *pinned->setup;
    const Setup& read = *shown->state->setup;
    if (setup.source_texts.empty() != read.source_texts.empty()) return pinned;
    const bool alike = same_ids(setup, read);
    setup.texts = alike ? read.texts : whole_texts(read);
    setup.written = alike ? read.written : Written();
    setup.source_texts = read.source_texts;
    pinned->setup = std::make_shared<const Setup>(std::move(setup));
    return pinned;
}

Pins Session::Impl::pins_that_stay() const {
    Pins pins = document().pins;
    pins.a = pinned_a();
    pins.a_reads_along = false;
    return pins;
}

void Session::Impl::derive_states() {
    const auto find = [this](std::optional<State> state) { return state ? table.find(std::move(*state)) : nullptr; };
    States next;
    next.shown = shown->state;
    if (next.shown != nullptr) next.unedited = find(without_edits(*next.shown));
    if (next.shown != nullptr && recorded_in(*next.shown) == nullptr) {
        next.unmasked = find(without_masks(*next.shown));
        next.correct = find(without_mistake(*next.shown));
        next.other_moment = other_moment_of(*next.shown);
    }
    next.pinned_a = find(pinned_a());
    next.pinned_b = find(document().pins.b);
    states = std::move(next);
}

std::vector<Request> Session::Impl::ahead() const {
    std::vector<Request> requests;
    if (goal == states.shown || states.shown == nullptr) return requests;
    for (const Request& request : wanted)
        if (request.state == states.shown && request.comes_with_picture())
            requests.push_back({goal, request.facet.moved(states.shown, goal)});
    return requests;
}

std::optional<Request> Session::Impl::beginning_ahead() const {
    const Results results = scheduler.results();
    if (!results.is_open({goal, facet::Trace{}})) return {};
    if (goal == states.shown) {  // already shown by its beginning, from which the pass goes on
        const std::shared_ptr<const Fact> begun = results.begun(goal);
        return begun == nullptr ? std::nullopt : std::optional(begun->request);
    }
    if (shown->trace == nullptr || shown->trace->whole()) return {};
    // The time of a pass is known once it is complete.
    if (!lacks_layers(*shown) && shown->compute_ms < kLongPassMs) return {};
    const Plan& plan = *shown->trace->plan;
    std::optional<std::size_t> furthest;
    for (const Request& request : ahead()) {
        const std::optional<StageId> id = looks_at(request);
        if (!id && !request.facet.info().leaves_no_hole) return {};
        if (id && plan.find(*id) != nullptr) furthest = std::max(furthest.value_or(0), plan.part_around(*id).first);
    }
    if (!furthest || *furthest >= plan.end_of_layers() || mib_before(*shown->trace, *furthest) > kMostMibBefore) return {};
    return Request{goal, facet::Beginning{plan.nodes()[*furthest].id}};
}

bool Session::Impl::is_tracing() const {
    const std::shared_ptr<const Fact> fact = seen.find({asked, facet::Trace{}});
    if (fact == nullptr || !fact->settled()) return true;
    // Without a stand-in, only the problem is shown.
    return computed->state != goal && (fact->value != nullptr || stand_in != nullptr);
}

bool Session::Impl::is_up_to_date() const {
    if (!is_tracing()) return true;
    return is_following() && shown->state != nullptr && same_but_for_moment(*shown->state, stand_in != nullptr ? *stand_in : *asked);
}

bool Session::Impl::is_following() const {
    const std::optional<TrainedModel>& trained = document().trained;
    return trained && !trained->step && trained->run == run().run && run().phase == TrainingPhase::Running;
}

void Session::Impl::order() {
    std::vector<Request> all;
    std::unordered_set<Request, RequestHash> added;
    const auto add = [&](const Request& request) {
        if (added.insert(request).second) all.push_back(request);
    };
    if (const std::optional<Request> beginning = beginning_ahead()) {
        add(*beginning);
        for (const Request& request : ahead())
            if (looks_at(request)) add(request);
    }
    add({asked, facet::Trace{}});
    if (stand_in != nullptr && stand_in != computed->state) add({stand_in, facet::Trace{}});
    // The last valid state may be shown by its beginning: its pass goes on while the document has a problem.
    if (asked != states.shown && !is_tracing() && lacks_layers(*computed)) {
        if (const auto begun = scheduler.results().begun(states.shown)) add(begun->request);
        add({states.shown, facet::Trace{}});
    }
    for (const Request& request : ahead()) add(request);
    if (dump) add({nullptr, *dump});
    // Slow facets of a state that is about to be replaced would only delay its successor.
    const bool replaced = is_tracing() && !is_following();
    // Of a state that is shown by its beginning and about to be replaced, the rest of the pass is not needed any more.
    const Results results = scheduler.results();
    const bool given_up = replaced && goal != states.shown && results.is_open({states.shown, facet::Trace{}});
    const auto delays = [&](const Request& request) {
        if (!replaced || request.state != states.shown) return false;
        if (request.facet.info().lane != Lane::Prompt) return true;
        const std::vector<Request> needs = given_up ? asked_by(request, results).needs : std::vector<Request>();
        return std::find(needs.begin(), needs.end(), Request{states.shown, facet::Trace{}}) != needs.end();
    };
    for (const Request& request : wanted)
        if (!delays(request)) add(request);
    if (awaited) add(*awaited);
    scheduler.want(std::move(all), is_following(), models_of(document()));
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
