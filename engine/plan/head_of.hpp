#pragma once
/// Converts between query heads and key/value heads. The selected head is a query head; with grouped-query attention several of them share
/// one key/value head.

#include <cstdint>

#include "engine/plan/config.hpp"
#include "engine/tensor/shape.hpp"

namespace attn {

/// Whether the stage has one matrix per head.
inline bool has_heads(const Shape& shape) { return shape.has(Axis::H) || shape.has(Axis::G); }
/// The stage's head that belongs to a query head.
inline std::int64_t head_of(const Config& config, const Shape& shape, std::int64_t head) {
    return shape.has(Axis::G) ? head / config.group_size() : head;
}
/// The query head that belongs to a stage's head: the selected one if it does, otherwise the first.
inline std::int64_t query_head(const Config& config, const Shape& shape, std::int64_t own, std::int64_t chosen) {
    return head_of(config, shape, chosen) == own ? chosen : shape.has(Axis::G) ? own * config.group_size() : own;
}

}  // namespace attn
