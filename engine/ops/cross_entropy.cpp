#include "engine/ops/cross_entropy.hpp"

#include <algorithm>
#include <string>

#include "engine/kernels/kernels.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"

namespace attn {

std::int64_t count_targets(std::span<const std::int32_t> targets, std::int64_t vocab_size) {
    std::int64_t counted = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        if (targets[i] == kIgnoredTarget) continue;
        if (targets[i] < 0 || targets[i] >= vocab_size)
            throw Error("target " + std::to_string(targets[i]) + " at position " + std::to_string(i) + " is outside the vocabulary of " +
                        std::to_string(vocab_size));
        ++counted;
    }
    return counted;
}

template <class Scalar>
CrossEntropy cross_entropy(const Scalar* logits, std::span<const std::int32_t> targets, std::int64_t vocab_size,
                           std::span<RowLoss> row_losses, Scalar* dlogits, std::int64_t counted_in_all) {
    const std::int64_t rows = static_cast<std::int64_t>(targets.size());
    if (row_losses.size() < targets.size())
        throw ShapeError("work space for " + std::to_string(row_losses.size()) + " losses, but there are " + std::to_string(rows) +
                         " targets");
    CrossEntropy result;
    result.counted = count_targets(targets, vocab_size);
    const std::int64_t divisor = counted_in_all > 0 ? counted_in_all : result.counted;
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    const Scalar factor = divisor > 0 ? static_cast<Scalar>(1.0 / static_cast<double>(divisor)) : Scalar{0};
    parallel_for(rows, 4 * vocab_size, [&](std::int64_t row) {
        const std::size_t i = static_cast<std::size_t>(row);
        Scalar* d = dlogits == nullptr ? nullptr : dlogits + row * vocab_size;
        if (targets[i] != kIgnoredTarget) {
            row_losses[i] = kernel.cross_entropy_row(logits + row * vocab_size, vocab_size, targets[i], factor, d);
            return;
        }
        row_losses[i] = {};
        if (d != nullptr) std::fill(d, d + vocab_size, Scalar{0});
    });
    for (std::size_t i = 0; i < targets.size(); ++i) {
        result.loss += row_losses[i].loss;
        result.correct += row_losses[i].correct;
    }
    if (divisor > 0) result.loss /= static_cast<double>(divisor);
    return result;
}

template CrossEntropy cross_entropy<float>(const float*, std::span<const std::int32_t>, std::int64_t, std::span<RowLoss>, float*,
                                           std::int64_t);
template CrossEntropy cross_entropy<double>(const double*, std::span<const std::int32_t>, std::int64_t, std::span<RowLoss>, double*,
                                            std::int64_t);

}  // namespace attn
