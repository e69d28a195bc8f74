/// Holds the moments of training runs that something names, so that no step ever shows the numbers of another.

#include <algorithm>
#include <utility>

#include "app/session/session_impl.hpp"

namespace attn::app {
namespace {

/// Undo steps hold moments in at most this share of the memory for histories; older ones may be dropped.
constexpr std::size_t kUndoShare = 4;

std::size_t bytes_of(const NamedMoment& named) { return static_cast<std::size_t>(named.moment.parameters->count()) * sizeof(float); }

std::vector<NamedMoment> moments_of_pins(const Pins& pins) {
    std::vector<NamedMoment> moments;
    for (const std::optional<State>* pinned : {&pins.a, &pins.b}) {
        const MomentOfRun* moment = *pinned ? moment_of(**pinned) : nullptr;
        if (moment != nullptr && moment->parameters != nullptr) moments.push_back({moment->run, {moment->step, moment->parameters}});
    }
    return moments;
}

auto find_in(const std::vector<NamedMoment>& all, std::uint64_t run, std::int64_t step) {
    return std::find_if(all.begin(), all.end(), [&](const NamedMoment& one) { return one.is(run, step); });
}

}  // namespace

Moment Session::Impl::take_moment(std::uint64_t number, std::int64_t step) {
    const auto known = find_in(named, number, step);
    if (known != named.end()) return known->moment;
    Moment moment = trainer.moment(number, step);
    if (moment.parameters != nullptr) named.push_back({number, moment});
    return moment;
}

Moment Session::Impl::take_moment_near(std::uint64_t number, std::int64_t step) {
    if (Moment exact = take_moment(number, step); exact.parameters != nullptr) return exact;
    Moment near = trainer.moment_near(number, step);
    if (near.parameters != nullptr) named.push_back({number, near});
    return near;
}

void Session::Impl::hold_named_moments() {
    if (run().run == 0) return;
    std::vector<NamedMoment> now;
    std::size_t bytes = 0;
    const auto add = [&](NamedMoment one) {
        if (find_in(now, one.run, one.moment.step) != now.end()) return;
        if (one.moment.parameters == nullptr) one.moment = take_moment(one.run, one.moment.step);
        if (one.moment.parameters == nullptr) return;
        one.moment.held = true;
        bytes += bytes_of(one);
        now.push_back(std::move(one));
    };
    const auto add_model = [&](const Document& of) {
        if (of.trained && of.trained->step) add({of.trained->run, {*of.trained->step, nullptr}});
    };
    add_model(document());
    if (document().trained && other_step) add({document().trained->run, {*other_step, nullptr}});
    for (NamedMoment& pinned : moments_of_pins(document().pins)) add(std::move(pinned));
    const std::size_t most = bytes + run().histories_budget / kUndoShare;
    for (const std::shared_ptr<const Document>& other : history.others()) {
        if (bytes >= most) break;
        if (other->trained && exists(other->trained->run)) add_model(*other);
        for (NamedMoment& pinned : moments_of_pins(other->pins)) add(std::move(pinned));
    }
    HeldMoments moments;
    for (const NamedMoment& one : named) moments[one.run];
    for (const NamedMoment& one : now) moments[one.run].push_back(one.moment);
    if (now == std::exchange(named, now)) return;
    trainer.hold(std::move(moments));
}

}  // namespace attn::app
