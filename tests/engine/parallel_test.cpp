#include "engine/ops/parallel.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <limits>
#include <memory>
#include <new>
#include <thread>

namespace {

using namespace attn;

/// Counts how often each number was visited.
class Tally {
public:
    explicit Tally(std::int64_t count) : count_(count), met_(std::make_unique<std::atomic<int>[]>(static_cast<std::size_t>(count))) {}
    void meet(std::int64_t i) { ++met_[static_cast<std::size_t>(i)]; }
    bool each_once() const {
        for (std::int64_t i = 0; i < count_; ++i)
            if (met_[static_cast<std::size_t>(i)] != 1) return false;
        return true;
    }

private:
    std::int64_t count_;
    std::unique_ptr<std::atomic<int>[]> met_;
};

TEST(Parallel, EveryItemIsMetOnce) {
    for (const int threads : {1, 2, 3, 8}) {
        const ThreadScope scope(threads);
        for (const std::int64_t count : {1, 2, 3, 7, 16, 17, 31, 100, 1001})
            for (const std::int64_t cost : {std::int64_t{1}, kParallelCost + 1}) {
                Tally tally(count);
                parallel_for(count, cost, [&](std::int64_t i) { tally.meet(i); });
                EXPECT_TRUE(tally.each_once()) << count << " items, " << threads << " threads";
            }
    }
}

TEST(Parallel, RangesCoverEverythingInWholeGrains) {
    for (const int threads : {1, 2, 3, 8}) {
        const ThreadScope scope(threads);
        for (const std::int64_t count : {1, 11, 12, 13, 64, 257, 2048})
            for (const std::int64_t grain : {1, 12, 64})
                for (const std::int64_t cost : {std::int64_t{1}, kParallelCost, kPartCost}) {
                    Tally tally(count);
                    std::atomic<bool> whole{true};
                    parallel_ranges(count, grain, cost, [&](std::int64_t first, std::int64_t last) {
                        if (first % grain != 0 || (last != count && last % grain != 0) || first >= last) whole = false;
                        for (std::int64_t i = first; i < last; ++i) tally.meet(i);
                    });
                    EXPECT_TRUE(tally.each_once() && whole) << count << " in grains of " << grain << ", " << threads << " threads";
                }
    }
}

TEST(Parallel, BudgetsStayWithinWhatATeamMayHave) {
    for (const int threads : {-1, 0, 1, 2, kMostThreads, kMostThreads + 1, 65536, std::numeric_limits<int>::max()}) {
        const ThreadScope scope(threads);
        EXPECT_TRUE(thread_budget() >= 1 && thread_budget() <= kMostThreads) << threads;
    }
}

/// Requests a team of eight threads under a limit of `spare` additional threads, and exits with the team's size.
[[noreturn]] void compute_with_spare_threads(int spare) {
    const rlimit limit{static_cast<rlim_t>(1 + spare), static_cast<rlim_t>(1 + spare)};
    // root has no limit, and the limit counts all threads of a user, so use one without other processes.
    if (::setuid(65533) != 0 || ::setrlimit(RLIMIT_NPROC, &limit) != 0) ::_exit(255);
    const ThreadScope scope(8);
    Tally tally(100);
    parallel_for(100, kParallelCost, [&](std::int64_t i) { tally.meet(i); });
    ::_exit(tally.each_once() ? thread_budget() : 254);
}

/// The size of that team; -1 if the process was killed.
int team_with_spare_threads(int spare) {
    int status = 0;
    // In a new thread, because after a fork the threads of an existing team would be missing.
    std::thread([&] {
        const pid_t child = ::fork();
        if (child == 0) compute_with_spare_threads(spare);
        ::waitpid(child, &status, 0);
    }).join();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Parallel, TakesFewerThreadsWhereTheSystemRefusesMore) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs a user of its own";
    EXPECT_EQ(team_with_spare_threads(0), 1);
    for (const int spare : {1, 3, 6}) {
        const int team = team_with_spare_threads(spare);
        EXPECT_TRUE(team >= 1 && team <= 1 + spare) << spare << ": " << team;
    }
    EXPECT_EQ(team_with_spare_threads(100), 8);
}

TEST(Parallel, AnExceptionComesOutOfTheTeam) {
    for (const int threads : {1, 2, 8}) {
        const ThreadScope scope(threads);
        const auto fail = [](std::int64_t) { throw std::bad_alloc(); };
        EXPECT_THROW(parallel_for(64, kPartCost, fail), std::bad_alloc) << threads << " threads, all of them fail";
        EXPECT_THROW(parallel_for(64, kPartCost, [&](std::int64_t i) { i == 63 ? fail(i) : void(); }), std::bad_alloc)
            << threads << " threads, one fails";
        Tally tally(64);
        parallel_for(64, kPartCost, [&](std::int64_t i) { tally.meet(i); });
        EXPECT_TRUE(tally.each_once()) << "the next work is done as if nothing had been";
    }
}

TEST(Parallel, NothingIsNothing) {
    const ThreadScope scope(2);
    bool called = false;
    parallel_for(0, kPartCost, [&](std::int64_t) { called = true; });
    parallel_ranges(0, 4, kPartCost, [&](std::int64_t, std::int64_t) { called = true; });
    EXPECT_FALSE(called);
}

TEST(Parallel, ATallyNoticesWhatIsMetTwiceOrNever) {
    Tally tally(2);
    tally.meet(0);
    EXPECT_FALSE(tally.each_once());
    tally.meet(1);
    EXPECT_TRUE(tally.each_once());
    tally.meet(1);
    EXPECT_FALSE(tally.each_once());
}

}  // namespace
