#pragma once
/// What need not be written of a causal attention map.

#include "engine/tensor/tensor.hpp"

namespace attn {

/// Remembers which map's cells beyond the diagonal are 0, so that they need not be written over and over. Whoever writes to that map by
/// other means makes it forget.
class CausalZeros {
public:
    /// Whether the map has them already; afterwards it has them if it is causal.
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
