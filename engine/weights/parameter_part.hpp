#pragma once
/// The numbers of a parameter that may be stored beside others in a packed one.

#include <algorithm>
#include <vector>

#include "engine/weights/parameters.hpp"

namespace attn {

/// All numbers of the place, row-major.
template <class Scalar>
std::vector<Scalar> copy_part(const Parameters<Scalar>& parameters, const ParameterPlace& place) {
    const std::vector<Scalar> whole = parameters.copy(*place.whole);
    std::vector<Scalar> part(static_cast<std::size_t>(place.rows() * place.columns));
    for (std::int64_t row = 0; row < place.rows(); ++row)
        std::copy_n(whole.data() + row * place.stride() + place.first_column, place.columns, part.data() + row * place.columns);
    return part;
}

}  // namespace attn
