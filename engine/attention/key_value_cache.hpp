#pragma once
/// Keys and values of a text's positions, kept so that the positions that follow need to compute only their own.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/attention/heads_view.hpp"
#include "engine/tensor/tensor.hpp"

namespace attn {

/// What every layer of one stack keeps of one sequence. Rotary keys are kept as they are after their rotation. Memory grows with the
/// longest text so far.
template <class Scalar>
class KeyValueCache {
public:
    KeyValueCache(std::int64_t layers, std::int64_t heads, std::int64_t head_size);

    /// Positions that every layer has.
    std::int64_t length() const { return length_; }
    /// Forgets the positions from `length` on; at most length().
    void shrink(std::int64_t length) { length_ = length; }

    /// Puts a layer's keys and values [G,positions,D] of one sequence behind the length() that it has. They count only after advance():
    /// until then the next call replaces them.
    void put(int layer, const HeadsView<const Scalar>& keys, const HeadsView<const Scalar>& values, std::int64_t positions);
    /// All layers have been given so many positions more.
    void advance(std::int64_t positions) { length_ += positions; }

    /// That all of it takes.
    std::size_t bytes() const;

    /// Heads [G,S,D], with those positions that were put last; valid until the next put().
    HeadsView<const Scalar> keys(int layer) const { return heads_in(layers_[static_cast<std::size_t>(layer)].keys); }
    HeadsView<const Scalar> values(int layer) const { return heads_in(layers_[static_cast<std::size_t>(layer)].values); }

private:
    /// Rows [S,G*D].
    using Rows = AlignedVector<Scalar>;
    struct Layer {
        Rows keys, values;
    };

    void put(const HeadsView<const Scalar>& heads, std::int64_t positions, Rows& rows) const;
    HeadsView<const Scalar> heads_in(const Rows& rows) const { return {rows.data(), 0, head_size_, heads_ * head_size_}; }

    std::int64_t heads_, head_size_, length_ = 0;
    std::vector<Layer> layers_;
};

}  // namespace attn
