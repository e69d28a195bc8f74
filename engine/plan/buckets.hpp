#pragma once
/// Ranges of distances that T5 has a bias for (Raffel et al. 2020).

#include <cstdint>

namespace attn {

struct BucketRule {
    std::int64_t count = 32, farthest = 128;
    bool both_ways = false;  ///< keys behind the query have buckets of their own; else they count as distance 0
    bool operator==(const BucketRule&) const = default;
};

/// The bucket of a key `offset` positions behind the query, negative for one before it. With n buckets for a direction, e = n/2 and the
/// distance m: m where m < e, else e + floor(ln(m/e) / ln(farthest/e) (n - e)), at most n - 1; the second half of all for keys behind the
/// query (huggingface/transformers, models/t5).
std::int64_t bucket_of(const BucketRule& rule, std::int64_t offset);

}  // namespace attn
