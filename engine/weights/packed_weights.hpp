#pragma once
/// A model's linear weights once more, in the order that products read them in, so that a training step rearranges each one time for all
/// its sequences.

#include <cstdint>
#include <vector>

#include "engine/tensor/matrix_view.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {

/// A matrix and its transpose as Kernels::pack_b() leaves them; null where nobody packed them.
template <class Scalar>
struct PackedMatrix {
    const Scalar *data = nullptr, *across = nullptr;
};

template <class Scalar>
class PackedWeights {
public:
    /// Room for every matrix [in,out] of a layer and its transpose. `parameters` have to outlive this.
    explicit PackedWeights(const Parameters<Scalar>& parameters);

    /// Takes the parameters' present values, spread over threads.
    void pack();
    /// The copies of a matrix that lies in the parameters; none of part of one, or of one outside the layers.
    PackedMatrix<Scalar> find(const MatrixView& matrix) const;

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
