#include "engine/plan/alibi.hpp"

#include <bit>
#include <cmath>

namespace attn {

std::vector<double> alibi_slopes(std::int64_t heads) {
    const auto whole = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
    const double step = 8 / static_cast<double>(whole);
    std::vector<double> slopes;
    for (std::int64_t k = 1; k <= whole; ++k) slopes.push_back(std::exp2(-step * static_cast<double>(k)));
    for (std::int64_t j = 0; whole + j < heads; ++j) slopes.push_back(std::exp2(-step / 2 * static_cast<double>(2 * j + 1)));
    return slopes;
}

}  // namespace attn
