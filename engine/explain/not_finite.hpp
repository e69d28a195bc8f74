#pragma once
/// Finds where numbers first became infinite or NaN.

#include <optional>
#include <string>

#include "engine/explain/provenance.hpp"

namespace attn {

/// An infinite number or NaN of a trace.
struct NotFiniteCell {
    CellRef cell;
    std::string text;  ///< "layers.0.attention.scores at B=0, H=2, T=3, S=5 is inf"
};

/// The first number, in order of computation, that is infinite or NaN and not masked; nullopt if all are finite.
template <class Scalar>
std::optional<NotFiniteCell> first_not_finite(const Trace<Scalar>& trace);

}  // namespace attn
