#include "app/session/analyst.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "engine/trace/tap.hpp"
#include "tests/support/fake_computation.hpp"

namespace attn::app {
namespace {

using test::empty_computation;
using test::Gate;

std::shared_ptr<const Document> with_text(const std::string& text) {
    Document document;
    document.texts = {text};
    document.vocabulary_texts = {"a b c d e f g"};
    return std::make_shared<const Document>(std::move(document));
}

std::shared_ptr<const Document> with_causal(const std::string& text) {
    Document document = *with_text(text);
    document.forward.masks.causal = true;
    return std::make_shared<const Document>(std::move(document));
}

void no_wake() {}

TEST(Analyst, HasAnEmptySnapshotFromTheStart) {
    Analyst analyst(empty_computation(), no_wake);
    ASSERT_NE(analyst.snapshot(), nullptr);
    EXPECT_EQ(analyst.snapshot()->trace, nullptr);
    EXPECT_EQ(analyst.snapshot()->serial, 0U);
}

TEST(Analyst, ComputesTraceBaselineAndVerification) {
    Analyst analyst(empty_computation(), no_wake);
    const auto document = with_causal("a b");
    analyst.request(document);
    const auto snapshot = analyst.wait(true);
    EXPECT_EQ(snapshot->document, document);
    EXPECT_EQ(snapshot->problem, "");
    ASSERT_NE(snapshot->trace, nullptr);
    EXPECT_TRUE(snapshot->trace->settings.masks.causal);
    ASSERT_NE(snapshot->unmasked, nullptr);
    EXPECT_NE(snapshot->unmasked, snapshot->trace);
    EXPECT_FALSE(snapshot->unmasked->settings.masks.causal);
    EXPECT_FALSE(snapshot->unmasked->settings.masks.padding);
    EXPECT_EQ(snapshot->unmasked->parameters, snapshot->trace->parameters);
    EXPECT_NE(snapshot->verification, nullptr);
}

TEST(Analyst, PublishesTheTraceBeforeTheVerification) {
    Gate gate;
    gate.close();
    Computation computation = empty_computation();
    computation.verify = [&](const Trace<float>&, const std::stop_token& stop) {
        gate.pass(stop);
        return reference::Verification{};
    };
    Analyst analyst(std::move(computation), no_wake);
    analyst.request(with_causal("a b"));
    const auto traced = analyst.wait(false);
    EXPECT_NE(traced->trace, nullptr);
    EXPECT_NE(traced->unmasked, nullptr);
    EXPECT_EQ(traced->verification, nullptr);
    gate.open();
    const auto verified = analyst.wait(true);
    EXPECT_NE(verified->verification, nullptr);
    EXPECT_EQ(verified->serial, traced->serial);
    EXPECT_EQ(verified->trace, traced->trace);
}

TEST(Analyst, NewestWinsAndTheStaleOneIsAbandoned) {
    Gate gate;
    gate.close();
    Computation computation = empty_computation();
    const auto forward = computation.forward;
    computation.forward = [&](auto parameters, const TokenBatch& tokens, const TokenBatch& source, const ForwardSettings& settings,
                              const std::stop_token& stop) {
        gate.pass(stop);
        return forward(parameters, tokens, source, settings, stop);
    };
    Analyst analyst(std::move(computation), no_wake);
    analyst.request(with_text("a"));
    gate.await_arrival();
    analyst.request(with_text("a b"));
    analyst.request(with_text("a b c"));
    const auto newest = with_text("a b c d");
    analyst.request(newest);
    gate.await_abandoned(1);
    EXPECT_EQ(analyst.snapshot()->trace, nullptr);
    gate.open();
    const auto snapshot = analyst.wait(true);
    EXPECT_EQ(snapshot->document, newest);
    EXPECT_EQ(snapshot->serial, 1U) << "a stale document was shown";
    EXPECT_EQ(snapshot->tokens.at(0).size(), 4U);
}

TEST(Analyst, ANewRequestAbandonsTheVerification) {
    Gate gate;
    gate.close();
    Computation computation = empty_computation();
    computation.verify = [&](const Trace<float>&, const std::stop_token& stop) {
        gate.pass(stop);
        return reference::Verification{};
    };
    Analyst analyst(std::move(computation), no_wake);
    analyst.request(with_text("a"));
    gate.await_arrival();
    analyst.request(with_text("b"));
    gate.await_abandoned(1);
    const auto traced = analyst.wait(false);
    EXPECT_EQ(traced->document->texts.at(0), "b");
    EXPECT_EQ(traced->verification, nullptr);
    gate.open();
    EXPECT_NE(analyst.wait(true)->verification, nullptr);
}

TEST(Analyst, ANewRequestIsNotForgottenWhenTheOldOneComesToItsEnd) {
    Gate gate;
    gate.close();
    Computation computation = empty_computation();
    computation.forward = [&](auto parameters, const TokenBatch& tokens, const TokenBatch& source, const ForwardSettings& settings,
                              const std::stop_token&) {
        gate.pass({});  // deaf to stop requests
        return test::empty_trace(std::move(parameters), tokens, source, settings);
    };
    Analyst analyst(std::move(computation), no_wake);
    analyst.request(with_text("a"));
    gate.await_arrival();
    const auto newest = with_text("a b");
    analyst.request(newest);
    gate.open();
    EXPECT_EQ(analyst.wait(true)->document, newest);
}

TEST(Analyst, AFailureThatNobodyWaitsForIsNotShown) {
    Gate gate;
    gate.close();
    Computation computation = empty_computation();
    const auto forward = computation.forward;
    computation.forward = [&](auto parameters, const TokenBatch& tokens, const TokenBatch& source, const ForwardSettings& settings,
                              const std::stop_token& stop) {
        gate.pass({});
        if (tokens.length == 1) throw std::runtime_error("too late to matter");
        return forward(parameters, tokens, source, settings, stop);
    };
    std::atomic<const Analyst*> shown = nullptr;
    std::atomic<int> problems = 0;
    Analyst analyst(std::move(computation), [&] {
        if (!shown.load()->snapshot()->problem.empty()) ++problems;
    });
    shown = &analyst;
    analyst.request(with_text("a"));
    gate.await_arrival();
    analyst.request(with_text("a b"));
    gate.open();
    EXPECT_EQ(analyst.wait(true)->problem, "");
    EXPECT_EQ(problems.load(), 0);
}

TEST(Analyst, AVerificationBelongsToItsTrace) {
    Gate gate;
    Computation computation = empty_computation();
    computation.verify = [&](const Trace<float>&, const std::stop_token& stop) {
        gate.pass(stop);
        return reference::Verification{};
    };
    Analyst analyst(std::move(computation), no_wake);
    analyst.request(with_text("a"));
    const auto first = analyst.wait(true)->verification;
    ASSERT_NE(first, nullptr);
    gate.close();
    analyst.request(with_text("b"));
    EXPECT_EQ(analyst.wait(false)->verification, nullptr);
    gate.open();
    EXPECT_NE(analyst.wait(true)->verification, first);
}

TEST(Analyst, ABaselineBelongsToItsModel) {
    Analyst analyst(empty_computation(), no_wake);
    Document document = *with_causal("a b");
    analyst.request(std::make_shared<const Document>(document));
    const auto first = analyst.wait(true);
    document.config.seed += 1;
    analyst.request(std::make_shared<const Document>(document));
    const auto second = analyst.wait(true);
    EXPECT_NE(second->unmasked, first->unmasked);
    EXPECT_EQ(second->unmasked->parameters, second->trace->parameters);
    EXPECT_EQ(second->unmasked->config.seed, document.config.seed);
}

TEST(Analyst, LeavesWhileAComputationIsUnderWay) {
    Gate gate;
    gate.close();
    Computation computation = empty_computation();
    computation.verify = [&](const Trace<float>&, const std::stop_token& stop) {
        gate.pass(stop);
        return reference::Verification{};
    };
    {
        Analyst analyst(std::move(computation), no_wake);
        analyst.request(with_text("a"));
        gate.await_arrival();
    }
    EXPECT_EQ(gate.abandoned(), 1);
}

TEST(Analyst, AProblemKeepsTheLastGoodTrace) {
    Analyst analyst(empty_computation(), no_wake);
    const auto good = with_causal("a b");
    analyst.request(good);
    const auto before = analyst.wait(true);
    analyst.request(with_text(""));
    const auto after = analyst.wait(true);
    EXPECT_EQ(after->problem, "type some text");
    EXPECT_EQ(after->problem_field, Field::Texts);
    EXPECT_EQ(after->trace, before->trace);
    EXPECT_EQ(after->document, good);
    EXPECT_EQ(after->verification, before->verification);
    EXPECT_EQ(after->serial, before->serial);
    analyst.request(good);
    EXPECT_EQ(analyst.wait(true)->problem, "");
}

TEST(Analyst, AProblemAtTheStartIsShownWithoutATrace) {
    Analyst analyst(empty_computation(), no_wake);
    analyst.request(with_text("   "));
    const auto snapshot = analyst.wait(true);
    EXPECT_EQ(snapshot->problem, "type some text");
    EXPECT_EQ(snapshot->trace, nullptr);
}

TEST(Analyst, TheLastGoodTraceIsVerifiedAlthoughAProblemCameBetween) {
    Gate gate;
    gate.close();
    Computation computation = empty_computation();
    computation.verify = [&](const Trace<float>&, const std::stop_token& stop) {
        gate.pass(stop);
        return reference::Verification{};
    };
    Analyst analyst(std::move(computation), no_wake);
    analyst.request(with_text("a"));
    gate.await_arrival();
    analyst.request(with_text(""));
    gate.await_abandoned(1);
    gate.open();
    const auto snapshot = analyst.wait(true);
    EXPECT_EQ(snapshot->problem, "type some text");
    EXPECT_NE(snapshot->verification, nullptr);
}

TEST(Analyst, AnExceptionBecomesAProblem) {
    Computation computation = empty_computation();
    bool fail = false;
    const auto forward = computation.forward;
    computation.forward = [&](auto parameters, const TokenBatch& tokens, const TokenBatch& source, const ForwardSettings& settings,
                              const std::stop_token& stop) {
        if (fail) throw std::runtime_error("the kernel has no idea");
        return forward(parameters, tokens, source, settings, stop);
    };
    Analyst analyst(std::move(computation), no_wake);
    analyst.request(with_text("a"));
    const auto before = analyst.wait(true);
    fail = true;
    analyst.request(with_text("b"));
    const auto after = analyst.wait(true);
    EXPECT_EQ(after->problem, "the kernel has no idea");
    EXPECT_EQ(after->trace, before->trace);
}

TEST(Analyst, ACancellationThatNobodyAskedForIsAProblemToo) {
    Computation computation = empty_computation();
    computation.forward = [](auto, const TokenBatch&, const TokenBatch&, const ForwardSettings&, const std::stop_token&) -> Trace<float> {
        throw Cancelled();
    };
    Analyst analyst(std::move(computation), no_wake);
    analyst.request(with_text("a"));
    EXPECT_EQ(analyst.wait(true)->problem, "cancelled");
}

TEST(Analyst, MemoryThatRunsOutIsAProblem) {
    Computation computation = empty_computation();
    computation.parameters = [](const Config&, const Parameters<float>*) -> Parameters<float> { throw std::bad_alloc(); };
    Analyst analyst(std::move(computation), no_wake);
    analyst.request(with_text("a"));
    EXPECT_EQ(analyst.wait(true)->problem, "there is not enough memory for this");
}

TEST(Analyst, AVerificationThatFailsToRunIsAProblem) {
    Computation computation = empty_computation();
    computation.verify = [](const Trace<float>&, const std::stop_token&) -> reference::Verification { throw std::runtime_error("no"); };
    Analyst analyst(std::move(computation), no_wake);
    analyst.request(with_text("a"));
    const auto snapshot = analyst.wait(true);
    EXPECT_EQ(snapshot->problem, "could not check the numbers: no");
    EXPECT_NE(snapshot->trace, nullptr);
    EXPECT_EQ(snapshot->verification, nullptr);
}

TEST(Analyst, KeepsParametersAndBaselineWhileOnlyMasksChange) {
    int drawn = 0, passes = 0;
    Computation computation = empty_computation();
    computation.parameters = [&](const Config& config, const Parameters<float>*) {
        ++drawn;
        return Parameters<float>(config);
    };
    const auto forward = computation.forward;
    computation.forward = [&](auto parameters, const TokenBatch& tokens, const TokenBatch& source, const ForwardSettings& settings,
                              const std::stop_token& stop) {
        ++passes;
        return forward(parameters, tokens, source, settings, stop);
    };
    Analyst analyst(std::move(computation), no_wake);
    analyst.request(with_text("a b"));
    const auto first = analyst.wait(true);
    EXPECT_EQ(passes, 2);
    analyst.request(with_causal("a b"));
    const auto second = analyst.wait(true);
    EXPECT_EQ(passes, 3);
    EXPECT_EQ(second->unmasked, first->unmasked);
    EXPECT_GT(second->serial, first->serial);
    analyst.request(with_causal("b a"));
    const auto third = analyst.wait(true);
    EXPECT_EQ(passes, 5);
    EXPECT_NE(third->unmasked, second->unmasked);
    EXPECT_EQ(drawn, 1);
    analyst.request(with_causal("b a new"));
    analyst.wait(true);
    EXPECT_EQ(drawn, 2) << "a new word has a new row of the embedding";
}

TEST(Analyst, ATraceWithoutMasksIsItsOwnBaseline) {
    Analyst analyst(empty_computation(), no_wake);
    Document document = *with_text("a b");
    document.forward.masks.padding = false;
    analyst.request(std::make_shared<const Document>(document));
    const auto snapshot = analyst.wait(true);
    EXPECT_EQ(snapshot->unmasked, snapshot->trace);
}

TEST(Analyst, ComputesWhatIsShownWithoutItsEditsOnce) {
    int passes = 0;
    Computation computation = empty_computation();
    const auto forward = computation.forward;
    computation.forward = [&](auto parameters, const TokenBatch& tokens, const TokenBatch& source, const ForwardSettings& settings,
                              const std::stop_token& stop) {
        ++passes;
        return forward(parameters, tokens, source, settings, stop);
    };
    Analyst analyst(std::move(computation), no_wake);
    Document document = *with_causal("a b");
    analyst.request(std::make_shared<const Document>(document));
    const auto before = analyst.wait(true);
    EXPECT_EQ(before->plain, nullptr) << "nothing is edited";
    EXPECT_EQ(passes, 2);

    Edit edit;
    edit.at = {Stage::Q, 0};
    document.forward.edits = {edit};
    analyst.request(std::make_shared<const Document>(document));
    EXPECT_EQ(analyst.wait(true)->plain, before->trace) << "what was shown before the first edit";
    EXPECT_EQ(passes, 3);
    document.forward.edits[0].value = 2;
    analyst.request(std::make_shared<const Document>(document));
    EXPECT_EQ(analyst.wait(true)->plain, before->trace);
    EXPECT_EQ(passes, 4);

    document.texts = {"b a"};
    analyst.request(std::make_shared<const Document>(document));
    const auto other = analyst.wait(true);
    ASSERT_NE(other->plain, nullptr);
    EXPECT_NE(other->plain, before->trace);
    EXPECT_TRUE(other->plain->settings.edits.empty());
    EXPECT_TRUE(other->plain->settings.masks.causal);
    EXPECT_EQ(passes, 7) << "trace, without edits, without masks";

    document.forward.edits[0].on = false;
    analyst.request(std::make_shared<const Document>(document));
    EXPECT_EQ(analyst.wait(true)->plain, nullptr) << "an edit that is switched off changes nothing";
}

TEST(Analyst, WakesTheWindowForEveryPublication) {
    std::atomic<int> woken = 0;
    Analyst analyst(empty_computation(), [&] { ++woken; });
    analyst.request(with_causal("a b"));
    analyst.wait(true);
    // The last wake may still be on its way when wait() returns.
    while (woken.load() < 3) std::this_thread::yield();
    EXPECT_EQ(woken.load(), 3) << "trace, baseline, verification";
}

}  // namespace
}  // namespace attn::app
