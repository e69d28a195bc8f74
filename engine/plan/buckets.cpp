#include "engine/plan/buckets.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace attn {

std::int64_t bucket_of(const BucketRule& rule, std::int64_t offset) {
    const std::int64_t count = rule.both_ways ? rule.count / 2 : rule.count, exact = count / 2;
    const std::int64_t first = rule.both_ways && offset > 0 ? count : 0;
    const std::int64_t distance = rule.both_ways ? std::abs(offset) : std::max<std::int64_t>(-offset, 0);
    if (distance < exact) return first + distance;
    // In single precision, like the trained models: double could put a distance at a boundary into the next bucket.
    const float share = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                        static_cast<float>(std::log(static_cast<double>(rule.farthest) / static_cast<double>(exact)));
    return first + std::min(exact + static_cast<std::int64_t>(share * static_cast<float>(count - exact)), count - 1);
}

}  // namespace attn
