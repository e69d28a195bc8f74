#pragma once
/// Skips rewriting the zeros above the diagonal of a causal attention map.

#include "engine/tensor/tensor.hpp"

namespace attn {

/// Remembers that a map's cells above the diagonal are already 0, so that they need not be written again at every step. Code that writes to
/// the map by other means must call forget().
class CausalZeros {
public:
    /// Returns whether the map already has its zeros, and records that it has them from now on if it is causal.
    template <class Scalar>
    bool renew(const Tensor<Scalar>& map, bool causal) {
        const bool known = causal && data_ == map.data() && shape_ == map.shape();
        data_ = causal ? map.data() : nullptr;
        shape_ = map.shape();
        return known;
    }
    void forget() { data_ = nullptr; }

private:
    const void* data_ = nullptr;
    Shape shape_;
};

}  // namespace attn
