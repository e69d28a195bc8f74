#pragma once
/// The loss of next-token prediction.

#include <cstdint>
#include <span>

#include "engine/kernels/kernels.hpp"

namespace attn {

/// A target that is not counted, such as the one of a padding position.
inline constexpr std::int32_t kIgnoredTarget = -1;

struct CrossEntropy {
    double loss = 0;           ///< mean of -log softmax(logits)[target] over the counted rows; 0 when there are none
    std::int64_t counted = 0;  ///< rows whose target is not ignored
    std::int64_t correct = 0;  ///< counted rows whose target has the largest logit
};

/// Number of targets that are not ignored. Throws Error naming a target outside [0, vocab_size) that is not kIgnoredTarget.
std::int64_t count_targets(std::span<const std::int32_t> targets, std::int64_t vocab_size);

/// Mean cross-entropy over the counted rows, and its gradient, which is 0 in ignored rows; dlogits may be null. Summed in double, in row
/// order. If the rows are part of a larger batch with counted_in_all counted rows, loss and gradient are these rows' share of that batch's
/// mean.
///   logits [rows,V]  targets [rows]  ->  dlogits [rows,V]; row_losses [rows] is scratch space
/// Throws like count_targets(), and ShapeError if row_losses has the wrong size.
template <class Scalar>
CrossEntropy cross_entropy(const Scalar* logits, std::span<const std::int32_t> targets, std::int64_t vocab_size,
                           std::span<RowLoss> row_losses, Scalar* dlogits, std::int64_t counted_in_all = 0);

}  // namespace attn
