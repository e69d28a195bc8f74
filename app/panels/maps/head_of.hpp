#pragma once
/// The chosen head is one of the queries; where several of them share keys and values, it reads one of fewer heads.

#include <cstdint>

#include "engine/plan/config.hpp"
#include "engine/tensor/shape.hpp"

namespace attn::app {

/// The stage has a matrix for each head.
inline bool has_heads(const Shape& shape) { return shape.has(Axis::H) || shape.has(Axis::G); }
/// Which head of a stage goes with a head of the queries.
inline std::int64_t head_of(const Config& config, const Shape& shape, std::int64_t head) {
    return shape.has(Axis::G) ? head / config.group_size() : head;
}
/// The head of the queries that goes with a stage's own: the chosen one if it reads that, else the first that does.
inline std::int64_t query_head(const Config& config, const Shape& shape, std::int64_t own, std::int64_t chosen) {
    return head_of(config, shape, chosen) == own ? chosen : shape.has(Axis::G) ? own * config.group_size() : own;
}

}  // namespace attn::app
