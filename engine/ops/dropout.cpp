#include "engine/ops/dropout.hpp"

#include <algorithm>
#include <string>

#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/random.hpp"

namespace attn {

DropoutPattern::DropoutPattern(double rate, std::uint64_t seed, const StageId& where)
    : rate_(rate), seed_(seed), stream_((static_cast<std::uint64_t>(where.stack) << 56) ^
                                        (static_cast<std::uint64_t>(where.layer + 1) << 8) ^ static_cast<std::uint64_t>(where.stage)) {
    if (!(rate >= 0 && rate <= 1)) throw ConfigError("the dropout rate is " + std::to_string(rate) + ": 0 to 1 is possible");
}

bool DropoutPattern::keeps(std::int64_t index) const {
    return CounterRandom(seed_, stream_).uniform(static_cast<std::uint64_t>(index)) >= rate_;
}

template <class Scalar>
void dropout(const DropoutPattern& pattern, const Scalar* x, std::int64_t n, Scalar* y) {
    if (pattern.rate() == 0) {
        if (x != y) std::copy(x, x + n, y);
        return;
    }
    if (pattern.rate() == 1) {
        std::fill(y, y + n, Scalar{0});
        return;
    }
    const Scalar factor = static_cast<Scalar>(1 / (1 - pattern.rate()));
    parallel_ranges(n, 64, 4, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) y[i] = pattern.keeps(i) ? x[i] * factor : Scalar{0};
    });
}

template void dropout<float>(const DropoutPattern&, const float*, std::int64_t, float*);
template void dropout<double>(const DropoutPattern&, const double*, std::int64_t, double*);

}  // namespace attn
