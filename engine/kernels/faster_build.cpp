#include "engine/kernels/faster_build.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include "engine/tensor/tensor.hpp"

namespace attn {
namespace {

/// Times a product of the size most common in training, about 30 microseconds.
class Trial {
public:
    explicit Trial(KernelBuild build) : kernels_(kernels_of<float>(build)), scratch_(static_cast<std::size_t>(kernels_.gemm_scratch)) {}

    /// Runs one product and keeps the shortest time so far.
    void run() {
        const auto start = std::chrono::steady_clock::now();
        kernels_.gemm({.m = kM, .n = kN, .k = kK, .a = a_.data(), .lda = kK, .b = b_.data(), .ldb = kN, .c = c_.data(), .ldc = kN},
                      scratch_.data());
        least_ = std::min(least_, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    double least() const { return least_; }

private:
    static constexpr std::int64_t kM = 96, kN = 128, kK = 128;
    const Kernels<float>& kernels_;
    AlignedVector<float> scratch_, a_ = AlignedVector<float>(kM * kK, 0.5F), b_ = AlignedVector<float>(kK * kN, 0.25F),
                                   c_ = AlignedVector<float>(kM * kN);
    double least_ = std::numeric_limits<double>::infinity();
};

/// One comparison. The builds alternate, so that a clock change or another program affects both.
bool is_clearly_faster(KernelBuild narrow, KernelBuild wide) {
    constexpr int kTurns = 8;
    constexpr double kClearly = 0.9;
    std::array<Trial, 2> trials{Trial(narrow), Trial(wide)};
    for (int turn = 0; turn < kTurns; ++turn)
        for (Trial& trial : trials) trial.run();
    return trials[0].least() < kClearly * trials[1].least();
}

}  // namespace

KernelBuild faster_build(KernelBuild narrow, KernelBuild wide) {
    // The builds round differently, and a resumed run should get the same bits as an uninterrupted one, so a busy machine must not change
    // the choice from one start to the next. Hence the margin, and the narrow build must win five times in a row.
    constexpr int kWins = 5;
    for (int win = 0; win < kWins; ++win)
        if (!is_clearly_faster(narrow, wide)) return wide;
    return narrow;
}

}  // namespace attn
