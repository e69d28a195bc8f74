#pragma once
/// A model's linear weights once more, in the order that products read them in, so that a training step rearranges each one time for all
/// its sequences.

#include <cstdint>
#include <vector>

#include "engine/model/parameters.hpp"
#include "engine/model/weights.hpp"

namespace attn {

template <class Scalar>
class PackedWeights {
public:
    /// Room for every weight [in,out] and its transpose. `parameters` have to outlive this.
    explicit PackedWeights(const Parameters<Scalar>& parameters);

    /// Takes the parameters' present values, spread over threads.
    void pack();
    /// Lets `weights`, which are those of the same parameters, find their packed copies.
    void attach(ModelWeights<const Scalar>& weights) const;

private:
    struct Entry {
        const Scalar* weight;
        std::int64_t in, out;
        std::int64_t at, across_at;  ///< where its copies begin
    };
    std::vector<Entry> entries_;
    AlignedVector<Scalar> copies_;
};

}  // namespace attn
