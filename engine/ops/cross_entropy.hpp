#pragma once
/// The loss of next-token prediction.

#include <cstdint>
#include <span>

namespace attn {

/// A target that counts for nothing, such as that of a padding position.
inline constexpr std::int32_t kIgnoredTarget = -1;

struct CrossEntropy {
    double loss = 0;           ///< mean of -log softmax(logits)[target] over the counted rows; 0 when there are none
    std::int64_t counted = 0;  ///< rows whose target is not ignored
};

/// Mean cross-entropy and its gradient, which is 0 in ignored rows; dlogits may be null. The sum is taken in double, in row order.
///   logits [rows,V]  targets [rows]  ->  dlogits [rows,V]; row_losses [rows] is work space
/// Throws Error naming a target outside [0, V) that is not kIgnoredTarget.
template <class Scalar>
CrossEntropy cross_entropy(const Scalar* logits, std::span<const std::int32_t> targets, std::int64_t vocab_size,
                           std::span<double> row_losses, Scalar* dlogits);

}  // namespace attn
