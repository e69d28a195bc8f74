#include "engine/ops/dropout.hpp"

#include <algorithm>
#include <string>

#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/random.hpp"

namespace attn {

DropoutPattern::DropoutPattern(double rate, std::uint64_t seed, const StageId& where, std::int64_t first)
    : rate_(rate), seed_(seed),
      stream_((static_cast<std::uint64_t>(where.stack) << 56) ^ (static_cast<std::uint64_t>(where.layer + 1) << 8) ^ stage_key(where)),
      first_(first) {
    if (!(rate >= 0 && rate <= 1)) throw ConfigError("the dropout rate is " + std::to_string(rate) + "; expected 0 to 1");
}

bool DropoutPattern::keeps(std::int64_t index) const {
    return CounterRandom(seed_, stream_).uniform(static_cast<std::uint64_t>(first_ + index)) >= rate_;
}

template <class Scalar>
void dropout_part(const DropoutPattern& pattern, const Scalar* x, std::int64_t first, std::int64_t n, Scalar* y) {
    if (pattern.rate() == 0) {
        if (x != y) std::copy(x, x + n, y);
        return;
    }
    // With rate 1 the factor is infinite but never used, because nothing is kept.
    const Scalar factor = static_cast<Scalar>(1 / (1 - pattern.rate()));
    for (std::int64_t i = 0; i < n; ++i) y[i] = pattern.keeps(first + i) ? x[i] * factor : Scalar{0};
}

template <class Scalar>
void dropout(const DropoutPattern& pattern, const Scalar* x, std::int64_t n, Scalar* y) {
    parallel_ranges(n, 64, 4,
                    [&](std::int64_t first, std::int64_t last) { dropout_part(pattern, x + first, first, last - first, y + first); });
}

template void dropout_part<float>(const DropoutPattern&, const float*, std::int64_t, std::int64_t, float*);
template void dropout_part<double>(const DropoutPattern&, const double*, std::int64_t, std::int64_t, double*);
template void dropout<float>(const DropoutPattern&, const float*, std::int64_t, float*);
template void dropout<double>(const DropoutPattern&, const double*, std::int64_t, double*);

}  // namespace attn
