/// Memory does not grow when the same actions are repeated.

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "tests/support/interface_fixture.hpp"

#ifdef ATTN_SANITIZED
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace attn::app::test {
namespace {

/// Allocated memory of all threads, in MiB.
double live_mib() {
#ifdef ATTN_SANITIZED
    // Sanitizers have their own allocator, which mallinfo does not see.
    return static_cast<double>(::__sanitizer_get_current_allocated_bytes()) / (1 << 20);
#else
    const auto info = ::mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd) / (1 << 20);
#endif
}

class MemoryTest : public InterfaceFixture {
protected:
    MemoryTest() {
        open_example("causal-attention");
        instant = false;
    }
    /// Toggles the causal mask, each time at another temperature, with all panels drawn.
    void toggle(int times) {
        for (int i = 0; i < times; ++i) {
            ForwardSettings forward = session->document().forward;
            forward.masks.causal = !forward.masks.causal;
            forward.temperature += 0.001;
            session->apply({command::SetForward{forward}, ""});
            if (i % 4 == 0) session->wait();
            frame(ui_frame);
            if (keeps) kept.push_back(session->snapshot());
        }
        session->wait();
        frame(ui_frame);
    }
    bool keeps = false;
    std::vector<std::shared_ptr<const Snapshot>> kept;
};

TEST_F(MemoryTest, TogglesOfAMaskLeaveNothingBehind) {
    toggle(600);  // the undo history is full
    const double before = live_mib();
    toggle(2000);
    EXPECT_LT(live_mib() - before, 1);
    keeps = true;
    toggle(300);
    EXPECT_GT(live_mib() - before, 1) << "what is measured sees traces that are kept";
}

}  // namespace
}  // namespace attn::app::test
