#pragma once
/// The arithmetic behind a cell of a trace, and where its number goes.

#include <vector>

#include "engine/explain/provenance.hpp"

namespace attn::app {

struct Explanation {
    CellRef cell;
    Provenance provenance;
    std::vector<Operand> next;  ///< a cell of every stage that is computed from this one
};

}  // namespace attn::app
