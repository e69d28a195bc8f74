#pragma once
/// Dropout (Srivastava et al., 2014), inverted: what is kept is divided by 1 - rate.

#include <cstdint>

#include "engine/plan/stage.hpp"

namespace attn {

/// Decides which numbers of one tensor are dropped: a function of (seed, stage, layer, stack, index) alone.
class DropoutPattern {
public:
    /// The numbers are those of a tensor from its `first` on. Throws ConfigError unless the rate lies in [0, 1].
    DropoutPattern(double rate, std::uint64_t seed, const StageId& where, std::int64_t first = 0);
    bool keeps(std::int64_t index) const;
    double rate() const { return rate_; }

private:
    double rate_;
    std::uint64_t seed_, stream_;
    std::int64_t first_;
};

/// y = x / (1 - rate) where the pattern keeps, else 0. Rate 0 copies bit for bit, rate 1 gives zeros. y may be x.
/// The same function is its own backward pass: dx from dy.
///   x [n]  ->  y [n]
template <class Scalar>
void dropout(const DropoutPattern& pattern, const Scalar* x, std::int64_t n, Scalar* y);

/// The same for numbers [first, first + n) of the tensor, which x and y point at, on the calling thread.
template <class Scalar>
void dropout_part(const DropoutPattern& pattern, const Scalar* x, std::int64_t first, std::int64_t n, Scalar* y);

}  // namespace attn
