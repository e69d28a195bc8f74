#include "engine/tensor/arithmetic.hpp"

#include <cmath>
#include <limits>

#include "engine/tensor/error.hpp"

namespace attn {
namespace {

template <class Scalar>
void require_ieee() {
    // Volatile, so that the compiler cannot evaluate this at build time: only the processor's mode at run time matters.
    volatile Scalar infinity = std::numeric_limits<Scalar>::infinity(), smallest = std::numeric_limits<Scalar>::min();
    const Scalar nan = infinity - infinity, below_normal = smallest / 4;
    const bool knows_nan = std::isnan(nan) && !(nan == nan) && !(nan < 0) && !(nan >= 0);
    const bool knows_infinity = std::isinf(infinity) && -infinity < std::numeric_limits<Scalar>::lowest() && 1 / infinity == 0;
    if (!knows_nan || !knows_infinity) throw Error("this build does not recognise NaN and infinities: build without -ffast-math");
    if (!(below_normal > 0) || below_normal * 4 != smallest)
        throw Error("numbers below the normal range are flushed to 0 in this process, which changes results");
}

}  // namespace

void require_ieee_arithmetic() {
    require_ieee<float>();
    require_ieee<double>();
}

}  // namespace attn
