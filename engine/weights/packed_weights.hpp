#pragma once
/// A second copy of a model's linear weights, packed for the matrix product, so that a training step packs each matrix once for all its
/// sequences.

#include <cstdint>
#include <vector>

#include "engine/tensor/matrix_view.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {

/// A matrix and its transpose as packed by Kernels::pack_b(); null if not packed.
template <class Scalar>
struct PackedMatrix {
    const Scalar *data = nullptr, *across = nullptr;
};

template <class Scalar>
class PackedWeights {
public:
    /// Allocates room for every matrix [in,out] of a layer and its transpose. `parameters` must outlive this.
    explicit PackedWeights(const Parameters<Scalar>& parameters);

    /// Packs the current values of the parameters, in parallel.
    void pack();
    /// The packed copies of a whole matrix of the parameters; null for part of a matrix, or one outside the layers.
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
