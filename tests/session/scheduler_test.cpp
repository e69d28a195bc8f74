#include "app/session/facets/scheduler.hpp"

#include <gtest/gtest.h>
#ifdef __linux__
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <stdexcept>
#include <thread>

#include "app/session/document/document.hpp"
#include "app/session/values/changed_slice.hpp"
#include "app/session/values/knock_out.hpp"
#include "app/session/values/map_tensors.hpp"
#include "app/session/values/next_words.hpp"
#include "app/session/values/readings.hpp"
#include "app/session/values/snapshot.hpp"
#include "app/session/values/verification.hpp"
#include "engine/ops/parallel.hpp"
#include "tests/support/fake_computation.hpp"

namespace attn::app {
namespace {

using test::empty_computation;
using test::Gate;

void wake_nobody() {}

Setup with_text(const std::string& text) {
    app::Setup setup;
    setup.texts = {text};
    setup.vocabulary_texts = {"a b c d e f g"};
    return setup;
}

StateRef state_of(Setup setup) {
    return std::make_shared<const State>(State{std::make_shared<const app::Setup>(std::move(setup)), Drawn{}});
}
StateRef state(const std::string& text) { return state_of(with_text(text)); }

/// States with the same text and the parameters of successive steps.
class Moments {
public:
    explicit Moments(std::uint64_t run = 1) : run_(run) {
        app::Setup setup = with_text("a b");
        setup.vocabulary = {"<pad>", "<unk>", "a", "b"};
        setup.config.vocab_size = 4;
        setup.config.context_length = 64;
        parameters_ = std::make_shared<const Parameters<float>>(setup.config);
        setup_ = std::make_shared<const app::Setup>(std::move(setup));
    }
    StateRef at(std::int64_t step) const { return std::make_shared<const State>(State{setup_, MomentOfRun{run_, step, parameters_}}); }

private:
    std::uint64_t run_;
    std::shared_ptr<const Parameters<float>> parameters_;
    std::shared_ptr<const app::Setup> setup_;
};

Request trace_of(const StateRef& state) { return {state, facet::Trace{}}; }

/// Counts all calls; verifications wait at the gate.
struct Counted {
    std::atomic<int> passes{0}, drawn{0}, verified{0}, read{0};
    Gate gate;
    Computation computation() {
        Computation computation = empty_computation();
        computation.parameters = [this](const Config& config, const Parameters<float>*) {
            ++drawn;
            return Parameters<float>(config);
        };
        computation.forward = [this, forward = computation.forward](const auto& parameters, const auto& tokens, const auto& source,
                                                                    const auto& settings, const auto& stop) {
            ++passes;
            return forward(parameters, tokens, source, settings, stop);
        };
        computation.verify = [this](const Trace<float>&, const std::stop_token& stop) {
            gate.pass(stop);
            ++verified;
            return reference::Verification{};
        };
        computation.lens = [this](const std::shared_ptr<const Trace<float>>&, const std::stop_token&, const LensProgress&) {
            ++read;
            return LensReading{};
        };
        return computation;
    }
};

TEST(Scheduler, WakesOnceForAllPromptFacetsOfAState) {
    std::atomic<int> woken{0};
    Counted counted;
    Scheduler scheduler(counted.computation(), [&] { ++woken; });
    const StateRef shown = state("a b");
    // None of these can be computed for an empty trace, and each reports that.
    const std::vector<Request> prompt{{shown, facet::Trace{}}, {shown, facet::NextWords{}}, {shown, facet::HeadMean{{Stage::Weights, 0}}}};
    scheduler.want(prompt);
    scheduler.wait();
    const auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (woken == 0 && std::chrono::steady_clock::now() < soon) std::this_thread::yield();
    EXPECT_EQ(woken, 1);
    scheduler.want({prompt[0], prompt[1], prompt[2], {shown, facet::Verification{}}});
    scheduler.wait();
    while (woken == 1 && std::chrono::steady_clock::now() < soon) std::this_thread::yield();
    EXPECT_EQ(woken, 2) << "what takes long is told by itself";
}

/// Also those that differ only in what the hash of a request leaves out.
TEST(Results, FindEveryFactByItsRequestAlone) {
    std::vector<Request> requests;
    for (const StateRef& of : {state("a"), state("b")})
        for (int i = 0; i < 12; ++i) {
            facet::ChangedSlice slice{.stage = {Stage::Weights, i / 4}, .head = i % 4};
            requests.push_back({of, slice});
            slice.change.norm_weighted = true;
            requests.push_back({of, slice});
            slice.minus_sequence = 1;
            requests.push_back({of, slice});
            requests.push_back({of, facet::HeadMean{{Stage::Weights, i}}});
        }
    Results::Facts facts;
    for (const Request& request : requests) {
        auto fact = std::make_shared<Fact>();
        fact->request = request;
        facts.push_back(std::move(fact));
    }
    const Results results(facts);
    for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(results.find(Request(requests[i])), facts[i]) << i;
    EXPECT_EQ(results.find({state("a"), facet::HeadMean{{Stage::Weights, 99}}}), nullptr);
    EXPECT_EQ(results.find({state("c"), facet::HeadMean{{Stage::Weights, 0}}}), nullptr);
}

TEST(Scheduler, KnowsNothingAtFirstAndComputesNothingUnasked) {
    Counted counted;
    Scheduler scheduler(counted.computation(), wake_nobody);
    scheduler.wait();
    EXPECT_FALSE(scheduler.results().find(state("a"), facet::Trace{}));
    EXPECT_EQ(counted.passes, 0);
}

TEST(Scheduler, ComputesAFacetAndWhatItNeedsAndNothingElse) {
    Counted counted;
    Scheduler scheduler(counted.computation(), wake_nobody);
    const StateRef one = state("a b");
    scheduler.want({{one, facet::Verification{}}});
    scheduler.wait();
    EXPECT_TRUE(scheduler.results().find(one, facet::Verification{}));
    const auto trace = scheduler.results().find(one, facet::Trace{});
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->state, one);
    EXPECT_EQ(trace->tokens.at(0).size(), 2U);
    EXPECT_EQ(counted.passes, 1);
    EXPECT_EQ(counted.verified, 1);
    EXPECT_EQ(counted.read, 0);
}

TEST(Scheduler, ATraceIsThereBeforeWhatTakesLong) {
    Counted counted;
    counted.gate.close();
    Scheduler scheduler(counted.computation(), wake_nobody);
    const StateRef one = state("a"), other = state("b");
    scheduler.want({{one, facet::Verification{}}, trace_of(other)});
    counted.gate.await_arrival();
    scheduler.wait_for(trace_of(one));
    scheduler.wait_for(trace_of(other));
    const auto verification = scheduler.results().find(one, facet::Verification{});
    EXPECT_TRUE(verification.computing());
    counted.gate.open();
    scheduler.wait();
    EXPECT_TRUE(scheduler.results().find(one, facet::Verification{}));
}

TEST(Scheduler, ACheckGivesWayToWhatSomebodyWaitsFor) {
    Counted counted;
    counted.gate.close();
    Scheduler scheduler(counted.computation(), wake_nobody);
    const StateRef one = state("a");
    const Request check{one, facet::Verification{}}, reading{one, facet::Lens{}};
    scheduler.want({check});
    counted.gate.await_arrival();
    scheduler.want({check, reading});
    scheduler.wait_for(reading);
    EXPECT_EQ(counted.read, 1);
    EXPECT_EQ(counted.gate.abandoned(), 1);
    EXPECT_EQ(counted.verified, 0);
    counted.gate.open();
    scheduler.wait();
    EXPECT_TRUE(scheduler.results().find(one, facet::Verification{})) << "it is made up for";
    EXPECT_EQ(counted.verified, 1);
    EXPECT_EQ(counted.passes, 1);
}

TEST(Scheduler, NewestWinsAndTheStaleOneIsAbandoned) {
    Gate gate;
    gate.close();
    Computation computation = empty_computation();
    computation.forward = [&, forward = computation.forward](const auto& parameters, const auto& tokens, const auto& source,
                                                             const auto& settings, const auto& stop) {
        gate.pass(stop);
        return forward(parameters, tokens, source, settings, stop);
    };
    Scheduler scheduler(std::move(computation), wake_nobody);
    const StateRef stale = state("a"), newest = state("a b c d");
    scheduler.want({trace_of(stale)});
    gate.await_arrival();
    scheduler.want({trace_of(state("a b"))});
    scheduler.want({trace_of(state("a b c"))});
    scheduler.want({trace_of(newest)});
    gate.await_abandoned(1);
    EXPECT_FALSE(scheduler.results().find(newest, facet::Trace{}));
    gate.open();
    scheduler.wait();
    EXPECT_TRUE(scheduler.results().find(newest, facet::Trace{}));
    EXPECT_FALSE(scheduler.results().find(stale, facet::Trace{}));
}

TEST(Scheduler, WhatIsNoLongerWantedIsCancelledAndCanBeRequestedAgain) {
    Counted counted;
    counted.gate.close();
    Scheduler scheduler(counted.computation(), wake_nobody);
    const StateRef one = state("a");
    scheduler.want({{one, facet::Verification{}}});
    counted.gate.await_arrival();
    scheduler.want({trace_of(one)});
    counted.gate.await_abandoned(1);
    counted.gate.open();
    scheduler.want({{one, facet::Verification{}}});
    scheduler.wait();
    EXPECT_TRUE(scheduler.results().find(one, facet::Verification{}));
    EXPECT_EQ(counted.passes, 1) << "the trace was there";
}

TEST(Scheduler, ARequestIsNotForgottenWhenTheOldOneIsDeafToStops) {
    Gate gate;
    gate.close();
    Computation computation = empty_computation();
    computation.forward = [&](auto parameters, const TokenBatch& tokens, const TokenBatch& source, const ForwardSettings& settings,
                              const std::stop_token&) {
        gate.pass({});
        return test::empty_trace(std::move(parameters), tokens, source, settings);
    };
    Scheduler scheduler(std::move(computation), wake_nobody);
    scheduler.want({trace_of(state("a"))});
    gate.await_arrival();
    const StateRef newest = state("a b");
    scheduler.want({trace_of(newest)});
    gate.open();
    scheduler.wait();
    EXPECT_TRUE(scheduler.results().find(newest, facet::Trace{}));
}

TEST(Scheduler, AFailureThatNobodyWaitsForIsNotKept) {
    Gate gate;
    gate.close();
    Computation computation = empty_computation();
    computation.forward = [&, forward = computation.forward](const auto& parameters, const TokenBatch& tokens, const auto& source,
                                                             const auto& settings, const auto& stop) {
        gate.pass({});
        if (tokens.length == 1) throw std::runtime_error("too late to matter");
        return forward(parameters, tokens, source, settings, stop);
    };
    Scheduler scheduler(std::move(computation), wake_nobody);
    const StateRef stale = state("a");
    scheduler.want({trace_of(stale)});
    gate.await_arrival();
    scheduler.want({trace_of(state("a b"))});
    gate.open();
    scheduler.wait();
    EXPECT_EQ(scheduler.results().find(stale, facet::Trace{}).problem, "");
}

TEST(Scheduler, LeavesWhileAComputationIsUnderWay) {
    Counted counted;
    counted.gate.close();
    {
        Scheduler scheduler(counted.computation(), wake_nobody);
        scheduler.want({{state("a"), facet::Verification{}}});
        counted.gate.await_arrival();
    }
    EXPECT_EQ(counted.gate.abandoned(), 1);
}

TEST(Scheduler, AnExceptionIsTheMessageOfItsFacetAndOfThoseThatNeedIt) {
    Computation computation = empty_computation();
    computation.forward = [](auto, const TokenBatch&, const TokenBatch&, const ForwardSettings&, const std::stop_token&) -> Trace<float> {
        throw std::runtime_error("the kernel has no idea");
    };
    Scheduler scheduler(std::move(computation), wake_nobody);
    const StateRef one = state("a");
    scheduler.want({trace_of(one), {one, facet::Verification{}}});
    scheduler.wait();
    EXPECT_EQ(scheduler.results().find(one, facet::Trace{}).problem, "the kernel has no idea");
    EXPECT_EQ(scheduler.results().find(one, facet::Verification{}).problem, "the kernel has no idea");
}

TEST(Scheduler, SaysWhichSettingAProblemIsAbout) {
    Scheduler scheduler(empty_computation(), wake_nobody);
    const StateRef empty = state("  ");
    scheduler.want({trace_of(empty)});
    scheduler.wait();
    const auto fact = scheduler.results().find(trace_of(empty));
    EXPECT_EQ(fact->problem, "type some text");
    EXPECT_EQ(fact->field, Field::Texts);
}

TEST(Scheduler, ACancellationThatNobodyAskedForIsAProblemToo) {
    Computation computation = empty_computation();
    computation.forward = [](auto, const TokenBatch&, const TokenBatch&, const ForwardSettings&, const std::stop_token&) -> Trace<float> {
        throw Cancelled();
    };
    Scheduler scheduler(std::move(computation), wake_nobody);
    const StateRef one = state("a");
    scheduler.want({trace_of(one)});
    scheduler.wait();
    EXPECT_EQ(scheduler.results().find(one, facet::Trace{}).problem, "cancelled");
}

TEST(Scheduler, MemoryThatRunsOutIsAProblem) {
    Computation computation = empty_computation();
    computation.parameters = [](const Config&, const Parameters<float>*) -> Parameters<float> { throw std::bad_alloc(); };
    Scheduler scheduler(std::move(computation), wake_nobody);
    const StateRef one = state("a");
    scheduler.want({trace_of(one)});
    scheduler.wait();
    EXPECT_EQ(scheduler.results().find(one, facet::Trace{}).problem, "there is not enough memory for this");
}

TEST(Scheduler, AVerificationThatFailsToRunIsAProblemAndRetriedOnRequest) {
    Computation computation = empty_computation();
    std::atomic<bool> fails = true;
    computation.verify = [&](const Trace<float>&, const std::stop_token&) {
        if (fails) throw std::runtime_error("no");
        return reference::Verification{};
    };
    Scheduler scheduler(std::move(computation), wake_nobody);
    const StateRef one = state("a");
    scheduler.want({{one, facet::Verification{}}});
    scheduler.wait();
    EXPECT_EQ(scheduler.results().find(one, facet::Verification{}).problem, "could not check the numbers: no");
    EXPECT_TRUE(scheduler.results().find(one, facet::Trace{}));
    fails = false;
    scheduler.want({trace_of(one)});
    scheduler.want({{one, facet::Verification{}}});
    scheduler.wait();
    EXPECT_TRUE(scheduler.results().find(one, facet::Verification{}));
}

#ifdef __linux__
/// The niceness of the calling thread.
int niceness() { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid))); }

TEST(Scheduler, HoldsNoLockWhileItLetsOthersFirst) {
    Computation computation = empty_computation();
    std::atomic<int> computed_at = -100, told_at = -100, told = 0;
    computation.knock_out = [&](const Trace<float>&, const KnockOutQuestion&, const KnockOutProgress& progress, const std::stop_token&) {
        computed_at = niceness();
        for (std::size_t i = 1; i <= 5; ++i) {
            progress(KnockOut{}, i);
            const int before = told;
            for (int wait = 0; wait < 100 && told == before; ++wait) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return KnockOut{};
    };
    // The thread that wakes the window has just held the lock.
    Scheduler scheduler(std::move(computation), [&] {
        told_at = std::max(told_at.load(), niceness());
        ++told;
    });
    const StateRef one = state("a");
    scheduler.want({{one, facet::KnockOut{}}});
    scheduler.wait();
    EXPECT_TRUE(scheduler.results().find(one, facet::KnockOut{}));
    EXPECT_EQ(computed_at, 19);
    EXPECT_EQ(told_at, niceness());
    EXPECT_GT(told, 2) << "progress is told while it is made";
}
#endif

TEST(Scheduler, ChecksWithHalfTheCoresAtMost) {
    Computation computation = empty_computation();
    std::atomic<int> used = 0;
    computation.verify = [&](const Trace<float>&, const std::stop_token&) {
        used = thread_budget();
        return reference::Verification{};
    };
    Scheduler scheduler(std::move(computation), wake_nobody);
    const StateRef one = state("a");
    scheduler.want({{one, facet::Verification{}}});
    scheduler.wait();
    EXPECT_EQ(used, std::max(1, thread_budget() / 2));
}

TEST(Scheduler, KeepsParametersWhileTheModelStaysTheSame) {
    Counted counted;
    Scheduler scheduler(counted.computation(), wake_nobody);
    const auto trace = [&](const std::string& text) {
        const StateRef one = state(text);
        scheduler.want({trace_of(one)});
        scheduler.wait();
        return scheduler.results().find(one, facet::Trace{})->trace;
    };
    EXPECT_EQ(trace("a b")->parameters, trace("b a")->parameters);
    EXPECT_EQ(counted.drawn, 1);
    trace("b a new");
    EXPECT_EQ(counted.drawn, 2) << "a new word has a new row of the embedding";
}

TEST(Scheduler, FindsAgainWhatWasShownBefore) {
    Counted counted;
    StateTable table;
    Scheduler scheduler(counted.computation(), wake_nobody);
    app::Setup setup = with_text("a b");
    const StateRef plain = table.find(*state_of(setup));
    scheduler.want({trace_of(plain)});
    scheduler.wait();
    const auto before = scheduler.results().find(plain, facet::Trace{}).value;
    Edit edit;
    edit.at = {Stage::Q, 0};
    setup.forward.edits = {edit};
    for (const float value : {1.F, 2.F}) {
        setup.forward.edits[0].value = value;
        const StateRef edited = table.find(*state_of(setup));
        const StateRef unedited = table.find(without_edits(*edited).value());
        EXPECT_EQ(unedited, plain) << "equal states are one";
        scheduler.want({trace_of(edited), trace_of(unedited)});
        scheduler.wait();
        EXPECT_EQ(scheduler.results().find(unedited, facet::Trace{}).value, before);
    }
    EXPECT_EQ(counted.passes, 3) << "without the edit, with the one, with the other";
    setup.forward.edits[0].on = false;
    EXPECT_FALSE(without_edits(*state_of(setup))) << "an edit that is switched off changes nothing";
}

TEST(Scheduler, KeepsToItsBudgetAndWhatComesFirstTakesPrecedence) {
    Scheduler measure(empty_computation(), wake_nobody);
    const StateRef one = state("a b"), other = state("b a");
    measure.want({trace_of(one)});
    measure.wait();
    const double mib = measure.results().find(one, facet::Trace{})->whole_mib;
    ASSERT_GT(mib, 0);
    Scheduler scheduler(empty_computation(), wake_nobody, 1.5 * mib);
    scheduler.want({trace_of(one), trace_of(other)});
    scheduler.wait();
    EXPECT_TRUE(scheduler.results().find(one, facet::Trace{}));
    const auto refused = scheduler.results().find(other, facet::Trace{});
    EXPECT_FALSE(refused);
    EXPECT_NE(refused.problem.find("memory budget"), std::string::npos) << refused.problem;
    scheduler.want({trace_of(other), trace_of(one)});
    scheduler.wait();
    EXPECT_TRUE(scheduler.results().find(other, facet::Trace{})) << "what stands behind it gives way";
}

TEST(Scheduler, TellsHowFarItIs) {
    Gate gate;
    gate.close();
    Computation computation = empty_computation();
    computation.knock_out = [&](const Trace<float>&, const KnockOutQuestion&, const KnockOutProgress& progress,
                                const std::stop_token& stop) {
        progress({0, std::vector<PartWorth>(3)}, 1);
        gate.pass(stop);
        return KnockOut{7, {}};
    };
    Scheduler scheduler(std::move(computation), wake_nobody);
    const StateRef one = state("a");
    scheduler.want({{one, facet::KnockOut{}}});
    gate.await_arrival();
    auto answer = scheduler.results().find(one, facet::KnockOut{});
    // Reported by a thread other than the one that computes.
    for (; answer.done == 0; answer = scheduler.results().find(one, facet::KnockOut{})) std::this_thread::yield();
    EXPECT_TRUE(answer.computing());
    EXPECT_EQ(answer.done, 1U);
    EXPECT_EQ(answer.total, 3U);
    gate.open();
    scheduler.wait();
    answer = scheduler.results().find(one, facet::KnockOut{});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->with_all, 7);
}

TEST(Scheduler, WakesTheWindowForEveryPublication) {
    std::atomic<int> woken = 0;
    Counted counted;
    Scheduler scheduler(counted.computation(), [&] { ++woken; });
    scheduler.want({{state("a b"), facet::Verification{}}});
    scheduler.wait();
    // The last wake-up may still be pending when wait() returns.
    while (woken.load() < 2) std::this_thread::yield();
    EXPECT_EQ(woken.load(), 2) << "trace, verification";
}

// A followed run produces a newer moment before a slow facet is ready.
TEST(Scheduler, FinishesFacetsOfAFollowedRunAndShowsThemUntilThereAreNewerOnes) {
    Counted counted;
    counted.gate.close();
    Scheduler scheduler(counted.computation(), wake_nobody);
    const Moments moments;
    const StateRef first = moments.at(1), second = moments.at(2);
    scheduler.want({trace_of(first), {first, facet::Verification{}}}, true);
    counted.gate.await_arrival();
    scheduler.want({trace_of(second), {second, facet::Verification{}}}, true);
    scheduler.wait_for(trace_of(second));
    EXPECT_FALSE(scheduler.results().latest(second, facet::Verification{}));
    counted.gate.open();
    while (!scheduler.results().latest(second, facet::Verification{})) std::this_thread::yield();
    EXPECT_EQ(counted.gate.abandoned(), 0);
    EXPECT_FALSE(scheduler.results().find(second, facet::Verification{})) << "that is of the moment before";
    // Only for this run and this text.
    EXPECT_FALSE(scheduler.results().latest(Moments(2).at(2), facet::Verification{}));
    EXPECT_FALSE(scheduler.results().latest(state("a b"), facet::Verification{}));
    // Once the run has stopped, everything belongs to its last moment.
    scheduler.want({trace_of(second), {second, facet::Verification{}}}, false);
    scheduler.wait();
    EXPECT_TRUE(scheduler.results().find(second, facet::Verification{}));
    EXPECT_EQ(counted.verified, 2);
}

TEST(Scheduler, OfAFollowedRunOnlyTheLastMomentIsKept) {
    Counted counted;
    Scheduler scheduler(counted.computation(), wake_nobody);
    const Moments moments;
    std::vector<StateRef> states;
    for (std::int64_t step = 0; step < 20; ++step) {
        states.push_back(moments.at(step));
        scheduler.want({trace_of(states.back())}, true);
        scheduler.wait();
    }
    int kept = 0;
    for (const StateRef& one : states) kept += scheduler.results().find(one, facet::Trace{}) ? 1 : 0;
    EXPECT_LE(kept, 2);
}

TEST(Scheduler, ReportsPartialValues) {
    Gate gate;
    gate.close();
    Computation computation = empty_computation();
    computation.knock_out = [&](const Trace<float>&, const KnockOutQuestion&, const KnockOutProgress& each, const std::stop_token& stop) {
        KnockOut worth{2.5, {{{Stage::Context, 0}, 0, 3, true}, {{Stage::Context, 0}, 1}}};
        each(worth, 1);
        gate.pass(stop);
        worth.parts[1].measured = true;
        return worth;
    };
    std::atomic<int> woken{0};
    Scheduler scheduler(computation, [&] { ++woken; });
    const StateRef shown = state("a b");
    scheduler.want({{shown, facet::Trace{}}, {shown, facet::KnockOut{}}});
    gate.await_arrival();
    auto partly = scheduler.results().find(shown, facet::KnockOut{});
    // Progress is reported by a thread other than the one that computes, which then wakes the waiting one.
    for (; partly.done == 0; partly = scheduler.results().find(shown, facet::KnockOut{})) std::this_thread::yield();
    while (woken == 0) std::this_thread::yield();
    EXPECT_TRUE(partly.computing());
    EXPECT_EQ(partly.done, 1U);
    EXPECT_EQ(partly.total, 2U);
    ASSERT_NE(partly.so_far, nullptr);
    EXPECT_EQ(partly.so_far->parts[0].without, 3);
    EXPECT_FALSE(partly.so_far->parts[1].measured);
    gate.open();
    scheduler.wait();
    const auto whole = scheduler.results().find(shown, facet::KnockOut{});
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole.so_far, nullptr);
    EXPECT_TRUE(whole->parts[1].measured);
}

}  // namespace
}  // namespace attn::app
