/// Kept states are read in the background when they are wanted.

#include "app/session/readings_worker.hpp"

#include <gtest/gtest.h>

#include <new>

#include "app/session/presets.hpp"
#include "app/session/session.hpp"
#include "tests/support/fake_computation.hpp"

namespace attn::app {
namespace {

using test::Gate;

std::shared_ptr<const Snapshot> kept(std::uint64_t serial) {
    Snapshot snapshot;
    snapshot.serial = serial;
    snapshot.trace = std::make_shared<const Trace<float>>();
    return std::make_shared<const Snapshot>(snapshot);
}

/// Without a lens and totals, once the gate is open.
ReadingsWorker::Read counting(Gate& gate, int& calls) {
    return [&](const Trace<float>&, const std::stop_token& stop) {
        gate.pass(stop);
        ++calls;
        return Readings{};
    };
}

TEST(ReadingsWorker, AnswersOnceForEveryState) {
    Gate gate;
    int calls = 0;
    ReadingsWorker worker([] {}, counting(gate, calls));
    EXPECT_EQ(worker.report().serial, 0U);
    worker.wait();
    for (int i = 0; i < 3; ++i) {
        worker.request(kept(7));
        worker.wait();
    }
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(worker.report().serial, 7U);
    EXPECT_NE(worker.report().readings, nullptr);
    EXPECT_EQ(worker.report().problem, "");
}

TEST(ReadingsWorker, ANewerStateTakesThePlaceOfAnOlderOne) {
    Gate gate;
    int calls = 0;
    ReadingsWorker worker([] {}, counting(gate, calls));
    worker.request(kept(1));
    worker.wait();
    gate.close();
    worker.request(kept(2));
    gate.await_arrival();
    EXPECT_EQ(worker.report().readings, nullptr) << "those of another state would be wrong";
    worker.request(kept(3));
    gate.await_abandoned(1);
    gate.open();
    worker.wait();
    EXPECT_EQ(worker.report().serial, 3U);
    EXPECT_NE(worker.report().readings, nullptr);
    EXPECT_EQ(worker.report().problem, "") << "being abandoned is none";
    EXPECT_EQ(calls, 2);
}

TEST(ReadingsWorker, AFailureSaysWhy) {
    ReadingsWorker failing([] {}, [](const auto&, const std::stop_token&) -> Readings { throw Error("no"); });
    failing.request(kept(1));
    failing.wait();
    EXPECT_EQ(failing.report().problem, "no");
    EXPECT_EQ(failing.report().readings, nullptr);
    ReadingsWorker starving([] {}, [](const auto&, const std::stop_token&) -> Readings { throw std::bad_alloc(); });
    starving.request(kept(1));
    starving.wait();
    EXPECT_EQ(starving.report().problem, "there is not enough memory for this");
}

TEST(ReadingsWorker, EndsInTheMidstOfAnAnswer) {
    Gate gate;
    gate.close();
    int calls = 0;
    {
        ReadingsWorker worker([] {}, counting(gate, calls));
        worker.request(kept(1));
        gate.await_arrival();
    }
    EXPECT_EQ(gate.abandoned(), 1);
}

TEST(ReadingsWorker, AMessageStaysWhileAViewAsks) {
    Session session(open_preset("gpt-tiny"), [] {});
    const auto state = session.wait(false);
    session.apply({command::OpenPreset{"no such example"}, ""});
    const std::string message = session.message();
    ASSERT_NE(message, "");
    session.apply({command::ReadState{state}, ""});
    session.wait_for_kept_readings();
    EXPECT_EQ(session.message(), message);
    ASSERT_NE(session.kept_readings().readings, nullptr);
    EXPECT_EQ(session.kept_readings().readings->totals.size(), 1U);
}

}  // namespace
}  // namespace attn::app
