/// Memory kept for the next pass goes back to the system once nothing is computed any more.

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "engine/tensor/memory.hpp"

namespace attn::app {
namespace {

TEST(SessionMemory, WhatIsKeptForTheNextPassIsReturnedAfterARest) {
    constexpr std::size_t kBytes = std::size_t{1} << 20;
    keep_spare_memory(8 * kBytes);
    Session session(open_preset("causal-attention"), [] {});
    session.wait();
    free_numbers(allocate_numbers(kBytes), kBytes);
    EXPECT_GE(spare_memory(), kBytes);
    // As long as it takes; only a machine that stands still needs all of it.
    for (int i = 0; i < 1000 && spare_memory() > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(spare_memory(), 0U);
    keep_spare_memory(0);
}

}  // namespace
}  // namespace attn::app
