#include "app/session/threads/worker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

using testing::ElementsAre;
using Jobs = std::vector<int>;

/// Keeps a worker busy until it is told to go on, or asked to stop.
class Gate {
public:
    Worker::Job job() {
        return [this](const std::stop_token& stop) {
            entered_.set_value();
            while (!open_ && !stop.stop_requested()) std::this_thread::yield();
            was_asked = stop.stop_requested();
        };
    }
    void await() { entered_.get_future().wait(); }
    void open() { open_ = true; }
    std::atomic<bool> was_asked{false};

private:
    std::promise<void> entered_;
    std::atomic<bool> open_{false};
};

/// Jobs note their number, and its negative if they were asked to stop.
struct Noting {
    Jobs done;  // written by the worker only, read once it is idle
    Worker::Job note(int number) {
        return [this, number](const std::stop_token& stop) { done.push_back(stop.stop_requested() ? -number : number); };
    }
};

/// A worker with a job in progress.
class BusyWorker : public testing::Test {
protected:
    void SetUp() override {
        worker.send(gate.job());
        gate.await();
    }
    Noting noting;
    Gate gate;
    Worker worker;  // last, because its jobs use the others
};

TEST(Worker, CarriesOutJobsInTheirOrder) {
    Noting noting;
    Worker worker;
    for (int i = 0; i < 20; ++i) worker.send(noting.note(i));
    worker.wait();
    ASSERT_EQ(noting.done.size(), 20U);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(noting.done[static_cast<std::size_t>(i)], i);
}

TEST_F(BusyWorker, InterruptingStopsTheJobInProgressOnly) {
    worker.send(noting.note(1));
    worker.interrupt(noting.note(2));
    worker.wait();
    EXPECT_TRUE(gate.was_asked);
    EXPECT_THAT(noting.done, ElementsAre(1, 2));
}

TEST_F(BusyWorker, StoppingIsAboutTheJobInProgressOnly) {
    bool next_was_asked = true;
    worker.send([&](const std::stop_token& stop) { next_was_asked = stop.stop_requested(); });
    worker.stop();
    worker.wait();
    EXPECT_TRUE(gate.was_asked);
    EXPECT_FALSE(next_was_asked);
}

TEST_F(BusyWorker, ReplacingAlsoDropsThoseThatWait) {
    worker.send(noting.note(1));
    worker.replace(noting.note(2));
    worker.wait();
    EXPECT_TRUE(gate.was_asked);
    EXPECT_THAT(noting.done, ElementsAre(2));
}

TEST_F(BusyWorker, ClearingLeavesNothingToDo) {
    worker.send(noting.note(1));
    worker.send_later({}, noting.note(2));
    worker.clear();
    worker.wait();
    EXPECT_TRUE(gate.was_asked);
    EXPECT_TRUE(noting.done.empty());
    worker.send(noting.note(3));
    worker.wait();
    EXPECT_THAT(noting.done, ElementsAre(3)) << "a request to stop is about one job";
}

TEST_F(BusyWorker, ALaterJobGivesWayAndOnlyTheNewestOfThemRuns) {
    worker.send_later({}, noting.note(8));
    worker.send_later({}, noting.note(9));
    worker.send(noting.note(1));
    worker.send(noting.note(2));
    gate.open();
    worker.wait();
    EXPECT_FALSE(gate.was_asked);
    EXPECT_THAT(noting.done, ElementsAre(1, 2, 9));
}

TEST(Worker, AJobThatIsNotDueWaitsButCanBeBroughtForward) {
    Noting noting;
    Worker worker;
    const auto due = Worker::Clock::now() + std::chrono::hours(24);
    worker.send_later(due, noting.note(1));
    worker.send_and_wait(noting.note(2));
    EXPECT_THAT(noting.done, ElementsAre(2));
    EXPECT_FALSE(worker.is_idle());
    worker.send_later({}, noting.note(3));
    worker.wait();
    EXPECT_THAT(noting.done, ElementsAre(2, 3));
}

/// Training goes on this way: each step sends the next.
TEST(Worker, AJobMaySendTheNext) {
    Noting noting;
    Worker worker;
    std::function<void(int)> go_on = [&](int left) {
        worker.send_later({}, [&, left](const std::stop_token&) {
            noting.done.push_back(left);
            if (left > 0) go_on(left - 1);
        });
    };
    go_on(4);
    worker.wait();
    EXPECT_THAT(noting.done, ElementsAre(4, 3, 2, 1, 0));
}

TEST(Worker, CarryingOutWaitsForThatJob) {
    Noting noting;
    Worker worker;
    for (int i = 0; i < 50; ++i) {
        worker.send(noting.note(-1));
        worker.send_and_wait(noting.note(i));
        EXPECT_EQ(noting.done.back(), i);
    }
    EXPECT_EQ(noting.done.size(), 100U);
}

TEST_F(BusyWorker, CarryingOutEndsIfTheJobIsDropped) {
    const auto waits = std::async(std::launch::async, [&] { worker.send_and_wait(noting.note(1)); });
    while (waits.wait_for(std::chrono::seconds(0)) != std::future_status::ready) worker.clear();
    worker.wait();
    EXPECT_TRUE(gate.was_asked);
}

/// It does not wait for what follows.
TEST(Worker, CarryingOutReturnsWhileALaterJobIsInProgress) {
    Noting noting;
    Gate gate;
    Worker worker;
    worker.send_later(Worker::Clock::now() + std::chrono::hours(24), gate.job());
    worker.send_and_wait([&](const std::stop_token&) { worker.send_later({}, gate.job()); });
    gate.await();
    EXPECT_FALSE(worker.is_idle());
    gate.open();
    worker.wait();
}

TEST(Worker, TellsWhyAJobFailedAndGoesOn) {
    std::vector<std::string> failures;
    Noting noting;
    {
        Worker worker({.failed = [&](const std::string& message) { failures.push_back(message); }, .ended = {}});
        worker.send([](const std::stop_token&) { throw Error("the disk is full"); });
        worker.send([](const std::stop_token&) { throw Cancelled(); });
        worker.send(noting.note(1));
        worker.wait();
    }
    EXPECT_THAT(failures, ElementsAre("the disk is full"));
    EXPECT_THAT(noting.done, ElementsAre(1));
}

TEST(Worker, IsIdleByTheTimeItTellsThatTheLastJobEnded) {
    std::atomic<int> ends{0};
    std::atomic<bool> was_idle{false};
    std::promise<Worker*> made;
    const std::shared_future<Worker*> itself = made.get_future().share();
    Noting noting;
    {
        Worker worker({.failed = {}, .ended = [&] {
                           was_idle = itself.get()->is_idle();
                           ++ends;
                       }});
        made.set_value(&worker);
        worker.send(noting.note(1));
    }
    EXPECT_EQ(ends, 1);
    EXPECT_TRUE(was_idle);
}

/// Files that are to be saved when the program ends are saved; what may be given up sees the request.
TEST(Worker, EndsOnlyAfterTheJobsThatWait) {
    std::vector<bool> asked;
    Gate gate;
    auto worker = std::make_unique<Worker>();
    worker->send(gate.job());
    gate.await();
    worker->send([&](const std::stop_token& stop) { asked.push_back(stop.stop_requested()); });
    worker->send_later({}, [&](const std::stop_token&) { asked.push_back(false); });
    worker.reset();
    EXPECT_TRUE(gate.was_asked);
    EXPECT_THAT(asked, ElementsAre(true));
}

}  // namespace
}  // namespace attn::app
