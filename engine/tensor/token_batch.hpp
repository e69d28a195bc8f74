#pragma once
/// Token ids of one or more sequences, padded to the longest.

#include <cstdint>
#include <vector>

namespace attn {

struct TokenBatch {
    std::int64_t length = 0;               ///< T, positions including padding
    std::vector<std::int32_t> ids;         ///< [B,T]; padding positions hold pad_id
    std::vector<std::int64_t> lengths;     ///< [B], positions without padding
    std::vector<std::int32_t> segments{};  ///< [B,T], the segment of each position; empty: all in the first
    std::int64_t size() const { return static_cast<std::int64_t>(lengths.size()); }
    bool operator==(const TokenBatch&) const = default;
};

}  // namespace attn
