#pragma once
/// Inverted dropout (Srivastava et al., 2014): kept numbers are divided by 1 - rate.

#include <cstdint>

#include "engine/plan/stage.hpp"

namespace attn {

/// Decides which numbers of a tensor are dropped. Depends on (seed, stage, layer, stack, index) alone.
class DropoutPattern {
public:
    /// Index 0 is number `first` of the whole tensor. Throws ConfigError unless the rate is in [0, 1].
    DropoutPattern(double rate, std::uint64_t seed, const StageId& where, std::int64_t first = 0);
    bool keeps(std::int64_t index) const;
    double rate() const { return rate_; }

private:
    double rate_;
    std::uint64_t seed_, stream_;
    std::int64_t first_;
};

/// y = x / (1 - rate) where the pattern keeps x, else 0. Rate 0 copies exactly; rate 1 gives zeros. y may be x. Also the backward pass,
/// applied to dy.
///   x [n]  ->  y [n]
template <class Scalar>
void dropout(const DropoutPattern& pattern, const Scalar* x, std::int64_t n, Scalar* y);

/// The same for numbers [first, first + n) of the tensor, to which x and y already point. Runs on the calling thread only.
template <class Scalar>
void dropout_part(const DropoutPattern& pattern, const Scalar* x, std::int64_t first, std::int64_t n, Scalar* y);

}  // namespace attn
