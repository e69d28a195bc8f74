#pragma once
/// A KV cache: keys and values of earlier positions, so that new positions only need to compute their own.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/attention/heads_view.hpp"
#include "engine/tensor/tensor.hpp"

namespace attn {

/// The keys and values of one sequence in every layer of one stack. Rotary keys are stored after rotation. Memory grows with the longest
/// text so far and is not given back.
template <class Scalar>
class KeyValueCache {
public:
    KeyValueCache(std::int64_t layers, std::int64_t heads, std::int64_t head_size);

    /// Number of cached positions, the same in every layer.
    std::int64_t length() const { return length_; }
    /// Drops the positions from `length` on; `length` is at most length().
    void shrink(std::int64_t length) { length_ = length; }

    /// Appends a layer's keys and values [G,positions,D] after position length(). They become part of the cache with advance(); until then
    /// another put() for the layer replaces them.
    void put(int layer, const HeadsView<const Scalar>& keys, const HeadsView<const Scalar>& values, std::int64_t positions);
    /// Call when every layer has been given its `positions` new rows.
    void advance(std::int64_t positions) { length_ += positions; }

    /// Total memory used.
    std::size_t bytes() const;

    /// Heads [G,S,D], including rows put but not yet advanced over; valid until the next put().
    HeadsView<const Scalar> keys(int layer) const { return heads_in(layers_[static_cast<std::size_t>(layer)].keys); }
    HeadsView<const Scalar> values(int layer) const { return heads_in(layers_[static_cast<std::size_t>(layer)].values); }

private:
    /// [G,room,D]: every head's rows are contiguous, which is how attention reads them.
    struct Rows {
        AlignedVector<Scalar> numbers;
        std::int64_t room = 0;
    };
    struct Layer {
        Rows keys, values;
    };

    void put(const HeadsView<const Scalar>& heads, std::int64_t positions, Rows& rows) const;
    void make_room(std::int64_t positions, Rows& rows) const;
    HeadsView<const Scalar> heads_in(const Rows& rows) const { return {rows.numbers.data(), 0, rows.room * head_size_, head_size_}; }

    std::int64_t heads_, head_size_, length_ = 0;
    std::vector<Layer> layers_;
};

}  // namespace attn
