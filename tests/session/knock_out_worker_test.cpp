#include "app/session/knock_out_worker.hpp"

#include <gtest/gtest.h>

#include "app/session/presets.hpp"
#include "app/session/session.hpp"
#include "tests/support/fake_computation.hpp"

namespace attn::app {
namespace {

using test::Gate;

std::shared_ptr<const Snapshot> snapshot_of(std::uint64_t serial, const std::string& text) {
    Snapshot snapshot;
    snapshot.serial = serial;
    Document document;
    document.texts = {text};
    snapshot.document = std::make_shared<const Document>(document);
    snapshot.trace = std::make_shared<const Trace<float>>();
    return std::make_shared<const Snapshot>(snapshot);
}

/// Answers with the number of calls, once the gate is open.
KnockOutWorker::Compute counting(Gate& gate, int& calls) {
    return [&](const Trace<float>&, const KnockOutQuestion&, const KnockOutWorker::Progress& progress, const std::stop_token& stop) {
        progress(1, 3);
        gate.pass(stop);
        return KnockOut{static_cast<double>(++calls), {}};
    };
}

TEST(KnockOutWorker, TellsHowFarItIsAndWhatTheAnswerIsOf) {
    Gate gate;
    gate.close();
    int calls = 0;
    KnockOutWorker worker([] {}, counting(gate, calls));
    EXPECT_EQ(worker.report().result, nullptr);
    worker.request(snapshot_of(7, "a"), {});
    gate.await_arrival();
    EXPECT_TRUE(worker.report().running);
    EXPECT_EQ(worker.report().done, 1U);
    EXPECT_EQ(worker.report().total, 3U);
    EXPECT_EQ(worker.report().serial, 0U);
    gate.open();
    worker.wait();
    EXPECT_EQ(worker.report().serial, 7U);
    ASSERT_NE(worker.report().result, nullptr);
    EXPECT_EQ(worker.report().result->with_all, 1);
}

TEST(KnockOutWorker, ANewerDocumentTakesThePlaceOfAnOlderOne) {
    Gate gate;
    gate.close();
    int calls = 0;
    KnockOutWorker worker([] {}, counting(gate, calls));
    worker.request(snapshot_of(1, "a"), {});
    gate.await_arrival();
    worker.request(snapshot_of(2, "b"), {});
    gate.await_abandoned(1);
    gate.open();
    worker.wait();
    EXPECT_EQ(worker.report().serial, 2U);
    EXPECT_EQ(calls, 1);
}

TEST(KnockOutWorker, NewerParametersOfTheSameDocumentWaitForTheAnswerUnderWay) {
    Gate gate;
    gate.close();
    int calls = 0;
    KnockOutWorker worker([] {}, counting(gate, calls));
    worker.request(snapshot_of(1, "a"), {});
    gate.await_arrival();
    worker.request(snapshot_of(2, "a"), {});
    worker.request(snapshot_of(3, "a"), {});
    gate.open();
    worker.wait();
    EXPECT_EQ(gate.abandoned(), 0);
    EXPECT_EQ(calls, 2) << "the first, and the newest after it";
    EXPECT_EQ(worker.report().serial, 3U);
}

TEST(KnockOutWorker, CancellingLeavesTheLastAnswerAndAFailureSaysWhy) {
    Gate gate;
    int calls = 0;
    bool fails = false;
    const auto count = counting(gate, calls);
    KnockOutWorker worker([] {},
                          [&](const auto& trace, const auto& question, const auto& progress, const std::stop_token& stop) {
                              if (fails) throw Error("no");
                              return count(trace, question, progress, stop);
                          });
    worker.request(snapshot_of(1, "a"), {});
    worker.wait();
    gate.close();
    worker.request(snapshot_of(2, "b"), {});
    gate.await_arrival();
    worker.cancel();
    gate.await_abandoned(1);
    EXPECT_FALSE(worker.report().running);
    EXPECT_EQ(worker.report().asked, 0U);
    EXPECT_EQ(worker.report().serial, 1U);
    gate.open();
    fails = true;
    worker.request(snapshot_of(3, "c"), {});
    worker.wait();
    EXPECT_EQ(worker.report().problem, "no");
    EXPECT_EQ(worker.report().serial, 1U) << "of an earlier state, and said to be";
}

TEST(KnockOutWorker, MeasuresEveryHeadOfASession) {
    Session session(open_preset("gpt-tiny"), [] {});
    const auto snapshot = session.wait(false);
    session.apply({command::MeasureHeads{}, ""});
    session.wait_for_knock_out();
    const KnockOutReport report = session.knock_out();
    EXPECT_EQ(report.problem, "");
    EXPECT_EQ(report.serial, snapshot->serial);
    ASSERT_NE(report.result, nullptr);
    EXPECT_EQ(static_cast<std::int64_t>(report.result->heads.size()),
              snapshot->trace->config.num_layers * snapshot->trace->config.num_heads);
    EXPECT_GT(report.result->with_all, 0);
}

}  // namespace
}  // namespace attn::app
