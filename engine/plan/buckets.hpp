#pragma once
/// T5's relative position buckets: ranges of distances with a learned bias each (Raffel et al., 2020).

#include <cstdint>

namespace attn {

struct BucketRule {
    /// How distances map to buckets: `count` in all; distances from `farthest` on share the last one.
    std::int64_t count = 32, farthest = 128;
    bool both_ways = false;  ///< keys after the query have buckets of their own (encoders); else they count as distance 0
    bool operator==(const BucketRule&) const = default;
};

/// The bucket of a key `offset` positions after the query; negative offsets are before it. With n buckets per direction, e = n/2 and
/// distance m: m if m < e, else e + floor(ln(m/e) / ln(farthest/e) (n - e)), at most n - 1. With both_ways, keys after the query use the
/// second half of the buckets (huggingface/transformers, models/t5).
std::int64_t bucket_of(const BucketRule& rule, std::int64_t offset);

}  // namespace attn
